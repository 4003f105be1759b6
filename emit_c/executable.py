"""A compiled module, ready to be called."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from emit_c.buffers import ALIGNMENT
from emit_c.compiler import load
from interpreter.arguments import checked_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from emit_c.emit import Program
    from hlo.instruction import Module
    from hlo.shape import Shape

Value = Any  # an array, None for a token, or a tuple of values


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes that a call takes."""

    arguments: int
    results: int
    temporaries: int
    constants: int


class Executable:
    """A module as a function of its arguments.

    Several threads may call it at once: each call has an arena of its own.

    Attributes
    ----------
    source : the C that was compiled.
    memory : bytes that a call takes.
    """

    def __init__(self, module: Module, program: Program) -> None:
        self.module, self.source = module, program.source
        self._arena_bytes = program.arena_bytes
        self._constants = [np.ascontiguousarray(c) for c in program.constants]
        self._parameters = [
            (path, shape) for p in module.entry.parameters for path, shape in p.shape.leaves()
        ]
        self._results = [shape for _, shape in module.entry.root.shape.leaves()]
        self._arenas: list[NDArray[np.uint8]] = []
        self.memory = Memory(
            arguments=sum(_bytes(s) for _, s in self._parameters),
            results=sum(_bytes(s) for s in self._results),
            temporaries=program.arena_bytes,
            constants=sum(c.nbytes for c in self._constants),
        )
        library = load(program.source)
        self._run = library.run
        self._run.restype = None
        self._run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        table = _pointers(self._constants)
        library.load_constants.restype = None
        library.load_constants(table)

    def __call__(self, *arguments: Any) -> Value:
        """The value of the module for some arguments, as `interpreter.evaluate` gives it.

        Raises
        ------
        HloError
            HLO110 to HLO112 if the arguments do not fit.
        """
        values = checked_arguments(self.module.entry, arguments)
        given = [None if leaf is None else _in_order(leaf) for leaf in _leaves(values)]
        made = [
            np.empty(s.dims, s.element_type.dtype) if s.is_array else None for s in self._results
        ]
        arena = self._arenas.pop() if self._arenas else _aligned(self._arena_bytes)
        self._run(_pointers(given), _pointers(made), arena.ctypes.data)
        self._arenas.append(arena)
        return _nested(self.module.entry.root.shape, iter(made))


def _in_order(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself if it lies in row-major order, where its type may; else a copy."""
    return np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"])


def _bytes(shape: Shape) -> int:
    return shape.size * shape.element_type.bytes if shape.is_array else 0


def _pointers(arrays: list[Any]) -> Any:
    """A C array of the arrays' addresses."""
    addresses = (None if a is None else a.ctypes.data for a in arrays)
    return (ctypes.c_void_p * max(len(arrays), 1))(*addresses)


def _aligned(size: int) -> NDArray[np.uint8]:
    whole = np.empty(size + ALIGNMENT, np.uint8)
    start = -whole.ctypes.data % ALIGNMENT
    return whole[start : start + size]


def _leaves(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from _leaves(cast("tuple[Any, ...]", value))
        else:
            yield value


def _nested(shape: Shape, arrays: Iterator[Any]) -> Value:
    if shape.is_tuple:
        return tuple(_nested(s, arrays) for s in shape.elements)
    return next(arrays)
