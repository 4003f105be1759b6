"""Arrays of the solver's terms: one term an element, made and combined element by element."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo_tools.proofs.meanings import (
    UntranslatedError,
    choose,
    number,
    symbol,
)
from hlo_tools.proofs.solver import Solved, z3

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from hlo.types.shape import Shape

    Array = NDArray[Any]

Value = Any  # an array of terms, or a tuple of values


def filled(dims: Sequence[int], elements: Iterable[Solved]) -> Array:
    """An array of terms, in row-major order."""
    array = np.empty(tuple(dims), object)
    for index, element in zip(np.ndindex(array.shape), elements, strict=True):
        array[index] = element
    return array


def symbols(name: str, shape: Shape) -> Value:
    """An array of unknown values, or a tuple of such."""
    if shape.is_tuple:
        return tuple(symbols(f"{name}.{i}", s) for i, s in enumerate(shape.elements))
    if not shape.is_array:
        raise UntranslatedError(f"a value of shape {shape}")
    indices = np.ndindex(shape.dims)
    spelled = (f"{name}[{','.join(map(str, p))}]" if p else name for p in indices)
    return filled(shape.dims, (symbol(name, shape.element_type) for name in spelled))


def numbers(value: Array, shape: Shape) -> Array:
    """An array of known values."""
    return filled(value.shape, (number(v, shape.element_type) for v in value.reshape(-1)))


def each(function: Callable[..., Solved], *operands: Array) -> Array:
    """A function of elements, applied to each."""
    spread = np.broadcast_arrays(*operands)
    rows = zip(*(operand.reshape(-1) for operand in spread), strict=True)
    return filled(spread[0].shape, (function(*row) for row in rows))


def clamped_cases(term: Solved, limit: int, signed: bool) -> Iterator[tuple[int, Solved]]:
    """The numbers from 0 to a limit, each with when a start is clamped to it."""
    low, high = (operator.le, operator.ge) if signed else (z3.ULE, z3.UGE)
    for value in range(limit + 1):
        at = z3.BitVecVal(value, term.size())
        conditions = [low(term, at)] if value == 0 else []
        conditions += [high(term, at)] if value == limit else []
        condition = z3.And(*conditions) if conditions else term == at
        yield value, z3.simplify(z3.BoolVal(True) if limit == 0 else condition)


def each_chosen(here: Solved, x: Array, y: Array) -> Array:
    """One of two arrays."""
    return each(lambda one, other: choose(here, one, other), x, y)
