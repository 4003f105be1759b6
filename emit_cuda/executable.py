"""A module compiled to CUDA, ready to be called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from codegen.program.run_time_sizes import call_with_sizes
from emit_cuda.program.runner import Runner
from interpreter.engine.arguments import checked_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from emit_cuda.devices import Device, Kernels
    from emit_cuda.program.emit import Program
    from hlo.instruction import Computation, Module
    from hlo.types.shape import Shape
    from optimizer.dynamic_padder.boundary import Static

Value = Any  # an array, None for a token, or a tuple of values


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes on the device that a call takes."""

    arguments: int
    results: int
    temporaries: int
    constants: int


class Executable:
    """A module as a function of its arguments, which runs on a device.

    Parameters
    ----------
    kernels : the program's, if they are loaded already.

    Attributes
    ----------
    program : the CUDA C, and the steps that run it.
    memory : bytes that a call takes.
    """

    def __init__(
        self,
        entry: Computation,
        program: Program,
        device: Device,
        kernels: Kernels | None = None,
    ) -> None:
        self.program, self.device, self._entry = program, device, entry
        self._given = [s for p in entry.parameters for _, s in p.shape.leaves()]
        self._made = [s for _, s in entry.root.shape.leaves()]
        self.memory = Memory(
            arguments=sum(map(_bytes, self._given)),
            results=sum(map(_bytes, self._made)),
            temporaries=program.arena_bytes,
            constants=sum(c.nbytes for c in program.constants),
        )
        self._kernels = kernels or device.load(program.source)
        self._constants = [self._written(array) for array in program.constants]

    @property
    def source(self) -> str:
        """The CUDA C."""
        return self.program.source

    def __call__(self, *arguments: Any) -> Value:
        """The value of the module for some arguments, as `interpreter.evaluate` gives it.

        Raises
        ------
        HloError
            HLO110 to HLO112 if the arguments do not fit, HLO192 if a kernel fails, HLO193 if
            checked mode finds a mistake.
        """
        device, taken = self.device, list[int]()
        values = checked_arguments(self._entry, list(arguments))
        try:
            taken += (
                self._written(np.ascontiguousarray(leaf)) if leaf is not None else 0
                for leaf in _leaves(values)
            )
            given = taken[:]
            results = [device.allocate(max(_bytes(s), 1)) for s in self._made]
            taken += results
            arena = device.allocate(max(self.program.arena_bytes, 1))
            taken.append(arena)
            addresses: dict[str, Sequence[int]] = {
                "argument": given, "result": results, "arena": [arena],
                "constant": self._constants,
            }  # fmt: skip
            Runner(device, self._kernels, addresses).run(self.program.steps)
            found = [self._taken(s, a) for s, a in zip(self._made, results, strict=True)]
        finally:
            for address in taken:
                if address:
                    device.free(address)
        return _nested(self._entry.root.shape, iter(found))

    def _written(self, array: NDArray[Any]) -> int:
        address = self.device.allocate(max(array.nbytes, 1))
        self.device.write(address, array)
        return address

    def _taken(self, shape: Shape, address: int) -> NDArray[Any] | None:
        if not shape.is_array:
            return None
        found = np.empty(shape.dims, shape.element_type.dtype)
        if found.size:
            self.device.read(address, found)
        return found


class DynamicExecutable(Executable):
    """A module with run-time sizes as a function of its arguments.

    Parameters
    ----------
    module : as it was given.
    static : what was compiled in its place.
    """

    def __init__(self, module: Module, static: Static, program: Program, device: Device) -> None:
        super().__init__(static.module.entry, program, device)
        self._whole, self._static = module.entry, static

    def __call__(self, *arguments: Any) -> Value:
        """The value of the module for some arguments, as `interpreter.evaluate` gives it."""
        return call_with_sizes(self._whole, self._static, super().__call__, arguments)


def _bytes(shape: Shape) -> int:
    return shape.size * shape.element_type.bytes if shape.is_array else 0


def _leaves(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from _leaves(cast("tuple[Any, ...]", value))
        else:
            yield value


def _nested(shape: Shape, leaves: Iterator[Any]) -> Value:
    if shape.is_tuple:
        return tuple(_nested(s, leaves) for s in shape.elements)
    return next(leaves)
