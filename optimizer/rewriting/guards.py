"""Conditions on the bindings of a rule's variables: the `where` of a rule.

Each is a function of instructions and attributes, made a guard by the decorator; in a rule it is
called on the variables: `where=is_integer(x) & one_use(y)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from optimizer.rewriting.guard import Guard, Match, guard
from optimizer.rewriting.make import value_of

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from optimizer.rewriting.term import Variable


def one_use(variable: Variable) -> Guard:
    """Nobody else uses it, so it disappears when it is replaced."""

    def holds(match: Match) -> bool:
        return match.has_one_use(match[variable])

    return Guard(f"one_use({variable})", holds, name="one_use", variables=(variable,))


@guard
def is_integer(x: Instruction) -> bool:
    """Whole numbers that wrap around; not pred."""
    return x.shape.element_type.is_integer


@guard
def is_signed(x: Instruction) -> bool:
    """Whole numbers with a sign."""
    return x.shape.element_type.kind == "signed"


@guard
def is_unsigned(x: Instruction) -> bool:
    """Whole numbers from 0 on."""
    return x.shape.element_type.kind == "unsigned"


@guard
def is_floating(x: Instruction) -> bool:
    """Real floating-point numbers."""
    return x.shape.element_type.is_floating


@guard
def is_wide_float(x: Instruction) -> bool:
    """Floats of 16 bits or more: of fewer bits, 1 / 6 may be 0, and exp(6) the largest number."""
    return x.shape.element_type.is_floating and x.shape.element_type.bits >= 16


@guard
def is_complex(x: Instruction) -> bool:
    """Complex numbers."""
    return x.shape.element_type.is_complex


@guard
def is_pred(x: Instruction) -> bool:
    """Truth values."""
    return x.shape.element_type.kind == "pred"


@guard
def same_shape(x: Instruction, y: Instruction) -> bool:
    """The same element type and dimensions, whatever the layouts."""
    return x.shape.compatible(y.shape)


@guard
def is_most_of(y: Instruction, x: Instruction) -> bool:
    """More than half as many elements as another array has."""
    return 2 * y.shape.size > x.shape.size


@guard
def same_dims(x: Instruction, y: Instruction) -> bool:
    """The same dimensions, whatever the element types."""
    return x.shape.dims == y.shape.dims


@guard
def same_type(x: Instruction, y: Instruction) -> bool:
    """The same element type."""
    return x.shape.element_type is y.shape.element_type


@guard
def is_scalar(x: Instruction) -> bool:
    """No dimensions."""
    return not x.shape.dims


@guard
def is_static(x: Instruction) -> bool:
    """No dimension has a run-time size."""
    return not x.shape.is_dynamic


@guard
def is_constant(x: Instruction) -> bool:
    """A constant, or a scalar constant that a broadcast spreads."""
    return value_of(x) is not None


@guard
def is_splat(c: Instruction) -> bool:
    """A constant that is one number everywhere."""
    value = value_of(c)
    return value is not None and bool(value.size) and bool((value == value.flat[0]).all())


@guard
def reciprocal_is_exact(c: Instruction) -> bool:
    """Powers of two whose reciprocal is a power of two too: then x / c is x * (1 / c)."""
    value = value_of(c)
    if value is None or not c.shape.element_type.is_floating:
        return False
    number = value.astype(np.float64)
    if not (np.abs(np.frexp(number)[0]) == 0.5).all():
        return False
    with np.errstate(all="ignore"):
        reciprocal = (1 / number).astype(value.dtype).astype(np.float64)
        return bool((number * reciprocal == 1).all())


@guard
def reciprocal_is_normal(c: Instruction) -> bool:
    """Floats whose reciprocals keep their digits: a processor may flush smaller ones to zero."""
    value = value_of(c)
    if value is None or not c.shape.element_type.is_floating:
        return False
    with np.errstate(all="ignore"):
        number = value.astype(np.float64)
        reciprocal = (1 / number).astype(value.dtype).astype(np.float64)
    limits = cast("Any", ml_dtypes.finfo(value.dtype))
    small = np.abs(reciprocal) < float(limits.smallest_normal)
    return not (small & np.isfinite(number)).any()


@guard
def is_power_of_two(c: Instruction) -> bool:
    """Whole numbers 1, 2, 4, ... and nothing else."""
    value = value_of(c)
    if value is None or not c.shape.element_type.is_integer:
        return False
    return all(n > 0 and n & (n - 1) == 0 for n in map(int, value.flat))


@guard
def is_identity(p: Any) -> bool:
    """A permutation that moves nothing."""
    return tuple(p) == tuple(range(len(p)))
