"""From a library's `run` to a Python callable: arguments checked, results made, pointers passed.

The trampoline in C does this in under a microsecond; `CtypesCaller` does the same in Python, where
Python's headers are missing. Both leave unusual arguments to Python: the trampoline one after the
other to `converted_one`, where no parameter is a tuple.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from codegen.program.values import as_numpy, leaves
from emit_c.code import foreign
from emit_c.executable.runtime import OUT_OF_MEMORY, runtime
from hlo.support import machine
from interpreter.engine.arguments import checked_argument, checked_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Computation
    from hlo.types.shape import Shape
    from optimizer.layout.result_views import StridedView

Value = Any  # an array, None for a token, or a tuple of values
Leaf = tuple[Any, tuple[int, ...], int]  # dtype or None, dims, partner


def caller(
    run: Any,
    arena_bytes: int,
    entry: Computation,
    donated: Mapping[int, int],
    views: Mapping[int, StridedView],
) -> Callable[..., Value]:
    """A module's function for Python.

    Parameters
    ----------
    run : the library's function, of ctypes.
    donated : for numbers of results, the argument that gives up its memory to it.
    views : of results, by their number: the function gives the arrays as they lie in memory.
    """
    inputs = tuple(
        _leaf(s, s.dims, 0 if k in donated.values() else -1)
        for k, s in enumerate(s for p in entry.parameters for _, s in p.shape.leaves())
    )
    results = result_leaves(entry, donated, views)
    nested_as = nesting(entry.root.shape)
    written = tuple(k for k, leaf in enumerate(inputs) if leaf[2] >= 0)
    convert = partial(converted, entry, written)
    trampoline = runtime().trampoline
    if trampoline is None:
        return CtypesCaller(run, arena_bytes, results, nested_as, convert)
    address = ctypes.cast(run, ctypes.c_void_p).value
    arrays = all(p.shape.is_array for p in entry.parameters)
    convert_one = partial(converted_one, entry, written) if arrays else None
    return trampoline.Caller(
        *(address, arena_bytes, inputs, results, nested_as, convert, convert_one, failure)
    )


def result_leaves(
    entry: Computation, donated: Mapping[int, int], views: Mapping[int, StridedView]
) -> tuple[Leaf, ...]:
    """The results of a module: their types, sizes in memory, and the arguments that they take."""
    return tuple(
        _leaf(s, _lying(index, s, views), donated.get(k, -1))
        for k, (index, s) in enumerate(entry.root.shape.leaves())
    )


def _leaf(shape: Shape, dims: tuple[int, ...], partner: int) -> Leaf:
    if not shape.is_array:
        return None, (), -1
    return shape.element_type.dtype, dims, partner


def _lying(index: Sequence[int], shape: Shape, views: Mapping[int, StridedView]) -> tuple[int, ...]:
    """The dimensions of a result as it lies in memory."""
    view = views.get(sum(index)) if len(index) < 2 else None
    return view.sizes if view else shape.dims


def nesting(shape: Shape) -> Any:
    """True for an array, None for a token, a tuple for a tuple."""
    if shape.is_tuple:
        return tuple(nesting(s) for s in shape.elements)
    return True if shape.is_array else None


def failure(status: int, thread: int = 0) -> BaseException:
    """The exception that a module's status stands for, on a thread or on this one."""
    if status == OUT_OF_MEMORY:
        return MemoryError("the compiled module found no memory")
    return foreign.failure(thread) if status == foreign.FAILED else KeyboardInterrupt()


def converted(
    entry: Computation, written: Sequence[int], *arguments: Any
) -> tuple[NDArray[Any] | None, ...]:
    """The leaves of arguments, as arrays in row-major order; copied only where they are not.

    Parameters
    ----------
    written : numbers of the leaves that the module will write to.

    Raises
    ------
    HloError
        HLO110 to HLO112 if the arguments do not fit.
    """
    values = checked_arguments(entry, [as_numpy(a) for a in arguments])
    shapes = [s for p in entry.parameters for _, s in p.shape.leaves()]
    return tuple(
        None if leaf is None else _in_order(leaf, s.element_type.dtype, write=k in written)
        for k, (leaf, s) in enumerate(zip(leaves(values), shapes, strict=True))
    )


def converted_one(
    entry: Computation, written: Sequence[int], number: int, argument: Any
) -> NDArray[Any]:
    """An argument for a parameter that is an array, as an array in row-major order.

    Raises
    ------
    HloError
        HLO111 to HLO112 if the argument does not fit.
    """
    value = checked_argument(entry, number, as_numpy(argument))
    dtype = entry.parameters[number].shape.element_type.dtype
    return _in_order(value, dtype, write=number in written)


def _in_order(array: NDArray[Any], dtype: Any, *, write: bool) -> NDArray[Any]:
    """The array itself if it lies in row-major order, where its type may; else a copy."""
    ready: Any = np.require(array, requirements=["C", "A", "W"] if write else ["C", "A"])
    # C has two types of 64-bit integers, so that an equal type may be another object.
    return ready if ready.dtype is dtype else ready.view(dtype)


class CtypesCaller:
    """Calls a module through ctypes.

    Results get fresh memory; donated memory is not used. The interpreter's lock is kept, so that a
    loop may ask for signals, and other threads of Python wait.
    """

    def __init__(
        self, run: Any, arena_bytes: int, results: tuple[Leaf, ...], nesting: Any,
        convert: Callable[..., tuple[NDArray[Any] | None, ...]],
    ) -> None:  # fmt: skip
        kind = ctypes.PYFUNCTYPE(ctypes.c_int, *(ctypes.c_void_p,) * 3)
        self._run = kind(ctypes.cast(run, ctypes.c_void_p).value or 0)
        self._arena_bytes, self._results = arena_bytes, results
        self._nesting, self._convert = nesting, convert
        self._arenas: list[NDArray[np.uint8]] = []

    def __call__(self, *arguments: Any) -> Value:
        """The module's value."""
        inputs = self._convert(*arguments)
        results = [None if d is None else np.empty(dims, d) for d, dims, _ in self._results]
        arena = self._arenas.pop() if self._arenas else aligned_bytes(self._arena_bytes)
        status = self._run(pointers(inputs), pointers(results), arena.ctypes.data)
        self._arenas.append(arena)
        if status:
            raise failure(status)
        return nested(self._nesting, iter(results))


def pointers(arrays: Sequence[NDArray[Any] | None]) -> Any:
    """A C array of the arrays' addresses."""
    addresses = (None if a is None else a.ctypes.data for a in arrays)
    return (ctypes.c_void_p * max(len(arrays), 1))(*addresses)


def aligned_bytes(size: int) -> NDArray[np.uint8]:
    """Memory that begins with a cache line."""
    whole = np.empty(size + machine.CACHE_LINE, np.uint8)
    start = -whole.ctypes.data % machine.CACHE_LINE
    return whole[start : start + size]


def nested(nesting: Any, arrays: Iterator[Any]) -> Value:
    """Arrays put together as a module's result is."""
    if isinstance(nesting, tuple):
        return tuple(nested(part, arrays) for part in cast("tuple[Any, ...]", nesting))
    return next(arrays)
