"""Runs a program's steps on a device, be it the processor, a GPU or a stand-in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from emit_cuda.program.steps import Branch, Copy, Launch, Place, Step, While

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emit_cuda.devices import Device, Kernels
    from emit_cuda.program.steps import Where


@dataclass(slots=True)
class Runner:
    """A program with the addresses of all its memory.

    Attributes
    ----------
    addresses : of the arguments, the results, the arena and the constants.
    """

    device: Device
    kernels: Kernels
    addresses: dict[str, Sequence[int]]

    def run(self, steps: Sequence[Step]) -> None:
        """Do all steps, one after the other."""
        for step in steps:
            match step:
                case Launch(kernel, grid, block, arguments):
                    given = [self._address(place) for place in arguments]
                    self.kernels.launch(kernel, grid, block, 0, given)
                case Copy(target, source, size):
                    self.device.copy(self._address(target), self._address(source), size)
                case While(condition, predicate, body):
                    self.run(condition)
                    while self._read(predicate, np.bool_):
                        self.run(body)
                        self.run(condition)
                case Branch(number, of_pred, branches):
                    self.run(branches[self._branch(number, of_pred, len(branches))])

    def _address(self, place: Where) -> int:
        assert isinstance(place, Place)
        return self.addresses[place.memory][place.number] + place.offset

    def _read(self, place: Where, dtype: Any) -> Any:
        found = np.empty((), dtype)
        self.device.read(self._address(place), found)
        return found[()]

    def _branch(self, number: Where, of_pred: bool, count: int) -> int:
        if of_pred:
            return 0 if self._read(number, np.bool_) else 1
        asked = int(self._read(number, np.int32))
        return asked if 0 <= asked < count else count - 1
