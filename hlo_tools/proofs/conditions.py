"""Guards of rules as the solver's terms, where they look at the values of constants.

A guard is a Python function of instructions. One that looks at shapes, types or attributes is
simply asked; of one that looks at the value of a constant the solver is told here what it says, so
that a rule is proved for all constants at once. Each line must hold wherever its guard does (a test
compares them on all constants of small types); those in `EXACT` also hold nowhere else, so that
they can be negated.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.types.element_type import PRED, ElementType
from hlo.types.limits import highest_of, lowest_of
from hlo_tools.proofs.meanings import COMPARISONS, FORMATS, number
from hlo_tools.proofs.solver import Solved, z3
from optimizer.rewriting.term import ConstantVariable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hlo.instruction import Instruction
    from hlo_tools.proofs.term_arrays import Value
    from optimizer.rewriting.guard import Guard, Match

TRUE, FALSE = z3.BoolVal(True), z3.BoolVal(False)


class ConstantsNeededError(Exception):
    """A guard looks at constants, and the solver is not told how; the message is its name."""


def is_power_of_two(t: ElementType, c: Solved) -> Solved:
    """One bit is set, and it is not the sign."""
    if not t.is_integer:
        return FALSE
    return z3.And(c > 0 if t.kind == "signed" else c != 0, c & (c - 1) == 0)


def equals(t: ElementType, c: Solved, value: float) -> Solved:
    """A comparison of values: the zeros are equal."""
    if t.is_complex:
        return FALSE
    return COMPARISONS[t.kind]["EQ"](c, number(value, t))


def has_zero(t: ElementType, c: Solved) -> Solved:
    """Either zero, in either part of a complex number."""
    if t.is_complex:
        return z3.Or(z3.fpIsZero(c.real), z3.fpIsZero(c.imag))
    return equals(t, c, 0)


@cache
def powers_of_two(t: ElementType) -> tuple[float, ...]:
    """All floats 2^k and -2^k of an IEEE format."""
    exponents, digits = FORMATS[t]
    bias = (1 << exponents - 1) - 1
    sizes = [2.0**k for k in range(2 - bias - digits, bias + 1)]
    return tuple(sign * size for size in sizes for sign in (1, -1))


def is_one_of(t: ElementType, c: Solved, values: tuple[float, ...]) -> Solved:
    """One of some floats."""
    return z3.Or(*[c == number(value, t) for value in values])


def is_power_of_two_float(t: ElementType, c: Solved) -> Solved:
    """2^k or -2^k."""
    return is_one_of(t, c, powers_of_two(t)) if t in FORMATS else FALSE


def reciprocal_is_exact(t: ElementType, c: Solved) -> Solved:
    """2^k or -2^k whose reciprocal is a number of the type."""
    if t not in FORMATS:
        return FALSE
    powers = set(powers_of_two(t))
    return is_one_of(t, c, tuple(v for v in powers_of_two(t) if 1 / v in powers))


def reciprocal_is_normal(t: ElementType, c: Solved) -> Solved:
    """All but the finite numbers so large that the reciprocal is less than the least normal one."""
    if t not in FORMATS:
        return FALSE
    least = number(1.0, t) / number(2.0 ** (2 - (1 << FORMATS[t][0] - 1)), t)
    return z3.Or(z3.fpIsInf(c), z3.Not(z3.fpAbs(c) > least))


def is_all_ones(t: ElementType, c: Solved) -> Solved:
    """All bits are set; floats never count."""
    return c if t is PRED else c == -1 if t.is_integer else FALSE


def below_width(t: ElementType, c: Solved) -> Solved:
    """Less than the width, read as unsigned."""
    return z3.ULT(c, t.bits) if t.is_integer else FALSE


def is_nan(t: ElementType, c: Solved) -> Solved:
    """NaN; of complex numbers in either part."""
    if t.is_complex:
        return z3.Or(z3.fpIsNaN(c.real), z3.fpIsNaN(c.imag))
    return z3.fpIsNaN(c) if t.is_floating else FALSE


def is_non_negative(t: ElementType, x: Solved) -> Solved:
    """Neither negative nor -0."""
    if t.is_complex or t.is_floating:
        return TRUE if t.is_complex else z3.Not(z3.fpIsNegative(x))
    return x >= 0 if t.kind == "signed" else TRUE


# Each is called on the type and the terms of the guard's arguments.
# fmt: off
CONDITIONS: dict[str, Callable[..., Solved]] = {
    "ascend":                lambda t, low, high: COMPARISONS[t.kind]["LT"](low, high),
    "is_all_ones":           is_all_ones,
    "is_below_width":        below_width,
    "is_beyond_width":       lambda t, c: z3.Not(below_width(t, c)),
    "is_even":               lambda t, c: c & 1 == 0 if t.is_integer else FALSE,
    "is_highest":            lambda t, c: equals(t, c, highest_of(t)),
    "is_lowest":             lambda t, c: equals(t, c, lowest_of(t)),
    "is_nan":                is_nan,
    "is_non_negative":       is_non_negative,
    "is_nonzero_number":     lambda t, c: z3.Not(has_zero(t, c)),
    "is_power_of_two":       is_power_of_two,
    "is_power_of_two_float": is_power_of_two_float,
    "is_splat":              lambda _t, _c: TRUE,
    "reciprocal_is_exact":   reciprocal_is_exact,
    "reciprocal_is_normal":  reciprocal_is_normal,
}
EXACT = CONDITIONS.keys() - {"is_non_negative", "is_splat"}
# These look at shapes, types and users of constants, and never at values.
SHAPES = frozenset({
    "conversion_is_exact", "has_nan", "has_negatives", "has_whole_ends", "is_complex",
    "is_constant", "is_finite_order", "is_floating", "is_integer", "is_narrowed_from", "is_pred",
    "is_scalar", "is_signed", "is_static", "is_unsigned", "one_use", "same_dims", "same_shape",
    "same_type",
})
# fmt: on


def condition(
    guard: Guard | None,
    match: Match,
    values: Mapping[Instruction, Value],
    negated: bool = False,
) -> Solved:
    """A guard as a term.

    Parameters
    ----------
    values : of what variables stand for.
    negated : whether the term must hold nowhere else than the guard.

    Raises
    ------
    ConstantsNeededError
        if it looks at constants, and `CONDITIONS` does not say how.
    """
    if guard is None:
        return TRUE
    if guard.name == "not":
        return z3.Not(condition(guard.parts[0], match, values, not negated))
    if guard.parts:
        combine = z3.And if guard.name == "and" else z3.Or
        return combine(*[condition(part, match, values, negated) for part in guard.parts])
    if guard.name in CONDITIONS and not (negated and guard.name not in EXACT):
        return of_values(guard, match, values)
    asks_constants = any(isinstance(v, ConstantVariable) for v in guard.variables)
    if guard.name in CONDITIONS or (asks_constants and guard.name not in SHAPES):
        raise ConstantsNeededError(guard.name)
    return z3.BoolVal(bool(guard.holds(match)))


def of_values(guard: Guard, match: Match, values: Mapping[Instruction, Value]) -> Solved:
    """A guard of `CONDITIONS`, for every element."""
    instrs: list[Any] = [match[variable] for variable in guard.variables]
    element_type = instrs[0].shape.element_type
    rows = np.broadcast_arrays(*[values[instr] for instr in instrs])
    terms = zip(*(row.reshape(-1) for row in rows), strict=True)
    return z3.And(*[CONDITIONS[guard.name](element_type, *row) for row in terms])
