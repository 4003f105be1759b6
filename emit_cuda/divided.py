"""A module for several devices, which run it together and exchange arrays."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from math import prod
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from emit_cuda.exchange import Rank, transport_of
from emit_cuda.executable import CudaExecutable
from hlo.errors.error import HloError
from hlo.wording import counted
from interpreter.engine.device import Device
from interpreter.engine.lockstep import Lockstep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from emit_cuda.devices import CudaDevice
    from emit_cuda.executable import Value
    from emit_cuda.libraries import Libraries
    from emit_cuda.program.emit import CudaProgram
    from hlo.instruction import Module


class DevicesExecutable(CudaExecutable):
    """A module as a function of the arguments of each device; devices are threads.

    Parameters
    ----------
    devices : as many as the module is for.
    alone : the module for one device, which may be called in its place.
    flushes : subnormal numbers become zeros.
    """

    def __init__(
        self,
        module: Module,
        program: CudaProgram,
        devices: Sequence[CudaDevice],
        libraries: Libraries,
        alone: Callable[[], CudaExecutable],
        *,
        flushes: bool = False,
    ) -> None:
        first, *others = (_numbered(program, number) for number in range(prod(program.grid)))
        options: Any = {"libraries": libraries, "graphs": False, "flushes": flushes}
        super().__init__(module.entry, first, devices[0], **options)
        self._others = [
            CudaExecutable(module.entry, other, device, **options)
            for other, device in zip(others, devices[1:], strict=True)
        ]
        self._transport = transport_of(devices, libraries)
        self._module, self._alone, self._one_run = module, cache(alone), Lock()

    def __call__(self, *arguments: Any, per_device: Sequence[Sequence[Any]] | None = None) -> Value:
        """The value of the module for some arguments, as `interpreter.evaluate` gives it.

        Parameters
        ----------
        arguments : those of a device that is alone.
        per_device : instead of them, those of every device; device d is replica
            d // num_partitions and partition d % num_partitions.

        Raises
        ------
        HloError
            as `CudaExecutable`; HLO116 to HLO123 as the interpreter.
        """
        if per_device is None:
            return self._alone()(*arguments)
        replicas, partitions = self.program.grid
        if len(per_device) == 1:
            return [self._alone()(*per_device[0])]
        if len(per_device) != replicas * partitions:
            message = f"arguments for {counted(len(per_device), 'device')}"
            wanted = f"{self._module.name} is for {replicas * partitions}"
            raise HloError("HLO116", message, self._module.span, [wanted])
        lockstep = Lockstep(replicas, partitions)
        bodies: list[Callable[[], Value]] = []
        with self._one_run:
            for number, executable in enumerate((self, *self._others)):
                device = Device(*divmod(number, partitions), lockstep=lockstep)
                executable.rank = Rank(device, self._transport)
                bodies.append(partial(executable.call, per_device[number]))
            return lockstep.run(bodies)


def _numbered(program: CudaProgram, number: int) -> CudaProgram:
    """The program of a device, of which constants tell its number."""
    replica, partition = divmod(number, program.grid[1])
    numbers = {"replica-id": replica, "partition-id": partition}
    constants = list(program.constants)
    for opcode, place in program.numbers.items():
        constants[place] = np.array(numbers[opcode], np.uint32)
    return replace(program, constants=tuple(constants))
