"""Elementwise opcodes as the solver's terms: a line each, to be read beside the interpreter's.

A pred is a truth value, an integer a bit vector, a float of an IEEE format a floating-point number
with one NaN (which is as much as promises say of NaN), a complex number a pair of these. Whatever
has no line here is an unknown function of its operands: what is proved then holds whatever the
opcode computes, as long as it computes the same from the same.

Shifts beyond the width, and unsigned division by zero, mean in SMT-LIB what they mean in XLA.

References
----------
`interpreter.numbers.integers`, `.bits` and `.floats`. SMT-LIB: theories FixedSizeBitVectors and
FloatingPoint.
"""

# Results of z3 have no type, and most lines here are functions of these.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hlo.types.element_type import (
    BF16,
    F8E3M4,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    PRED,
    ElementType,
)
from hlo_tools.proofs.solver import Solved, z3

if TYPE_CHECKING:
    from collections.abc import Callable

# Exponent bits and digits, the hidden one counted, of the formats that are IEEE's.
FORMATS = {
    F8E3M4: (3, 5),
    F8E4M3: (4, 4),
    F8E5M2: (5, 3),
    F16: (5, 11),
    BF16: (8, 8),
    F32: (8, 24),
    F64: (11, 53),
}
NEAREST = z3.RNE()


class UntranslatedError(Exception):
    """The solver has no terms for something, which the message names."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A complex number."""

    real: Solved
    imag: Solved


def sort_of(element_type: ElementType) -> Any:
    """The solver's sort for values of a type that is not complex."""
    if element_type is PRED:
        return z3.BoolSort()
    if element_type.is_integer:
        return z3.BitVecSort(element_type.bits)
    if element_type in FORMATS:
        return z3.FPSort(*FORMATS[element_type])
    # Formats without infinities, or with only one NaN or zero, have no theory.
    return z3.DeclareSort(element_type.name)


def symbol(name: str, element_type: ElementType) -> Solved:
    """An unknown value of a type."""
    if element_type.is_complex:
        return Pair(*(symbol(f"{name}.{part}", element_type.real) for part in ("re", "im")))
    return z3.Const(name, sort_of(element_type))


def number(value: Any, element_type: ElementType) -> Solved:
    """A known value of a type.

    Raises
    ------
    UntranslatedError
        for floats whose format is not IEEE's.
    """
    if element_type.is_complex:
        value = complex(value)
        return Pair(*(number(part, element_type.real) for part in (value.real, value.imag)))
    if element_type is PRED:
        return z3.BoolVal(bool(value))
    if element_type.is_integer:
        return z3.BitVecVal(int(value), element_type.bits)
    if element_type not in FORMATS:
        raise UntranslatedError(f"{element_type} is no IEEE format")
    return z3.FPVal(float(value), sort_of(element_type))


def parts(term: Solved) -> tuple[Solved, ...]:
    """The terms that a value consists of: two for a complex number."""
    return (term.real, term.imag) if isinstance(term, Pair) else (term,)


def by_parts(function: Callable[..., Solved], *operands: Pair) -> Pair:
    """The function of a real and an imaginary part, each by itself."""
    return Pair(function(*[o.real for o in operands]), function(*[o.imag for o in operands]))


def choose(condition: Solved, x: Solved, y: Solved) -> Solved:
    """One of two values."""
    if isinstance(x, Pair):
        return Pair(choose(condition, x.real, y.real), choose(condition, x.imag, y.imag))
    return x if x.eq(y) else z3.If(condition, x, y)


def one(x: Solved) -> Solved:
    """1 in an integer's width."""
    return z3.BitVecVal(1, x.size())


def between(table: dict[str, Callable[..., Any]], low: Solved, x: Solved, high: Solved) -> Solved:
    """The nearest number between two bounds; `high` if they cross."""
    return table["minimum"](table["maximum"](low, x), high)


def bits_of(x: Solved) -> list[Solved]:
    """The bits of an integer as truth values, the lowest first."""
    return [z3.Extract(i, i, x) == 1 for i in range(x.size())]


def count_ones(x: Solved) -> Solved:
    """The number of bits that are one."""
    none = z3.BitVecVal(0, x.size())
    return sum((z3.If(bit, one(x), none) for bit in bits_of(x)), none)


def count_leading_zeros(x: Solved) -> Solved:
    """The number of zero bits above the highest one bit."""
    width = x.size()
    count = z3.BitVecVal(width, width)
    for i, bit in enumerate(bits_of(x)):
        count = z3.If(bit, z3.BitVecVal(width - 1 - i, width), count)
    return count


def raised(x: Solved, y: Solved) -> Solved:
    """X to the power of an unsigned y, by repeated squaring.

    Raises
    ------
    UntranslatedError
        if the exponent is unknown: the term would be too large for any solver.
    """
    if not z3.is_bv_value(z3.simplify(y)):
        raise UntranslatedError("a power with an unknown exponent")
    result, square = one(x), x
    for bit in bits_of(y):
        result, square = z3.If(bit, result * square, result), square * square
    return result


def signed_power(x: Solved, y: Solved) -> Solved:
    """X to the power y; for negative y only 1 and -1 have reciprocals."""
    odd = z3.Extract(0, 0, y) == 1
    reciprocal = z3.If(x == -1, z3.If(odd, x, -x), z3.If(x == 1, x, z3.BitVecVal(0, x.size())))
    return z3.If(y < 0, reciprocal, raised(x, y))


def high_half(extend: Callable[[int, Solved], Solved]) -> Callable[[Solved, Solved], Solved]:
    """The high half of the product that has twice the width."""

    def multiply(x: Solved, y: Solved) -> Solved:
        n = x.size()
        return z3.Extract(2 * n - 1, n, extend(n, x) * extend(n, y))

    return multiply


def in_order(x: Solved, y: Solved) -> tuple[Solved, Solved]:
    """Two operands whose order says nothing, always in the same one: equal terms look alike."""
    return (x, y) if x.get_id() <= y.get_id() else (y, x)


def larger(x: Solved, y: Solved) -> Solved:
    """The larger float; NaN if either is NaN; +0 is larger than -0."""
    zeros = z3.And(z3.fpIsZero(x), z3.fpIsZero(y))
    either = z3.Or(z3.fpIsNaN(x), z3.fpIsNaN(y))
    chosen = z3.If(z3.fpGT(x, y), x, y)
    chosen = z3.If(zeros, z3.If(z3.fpIsNegative(x), y, x), chosen)
    return z3.If(either, z3.fpNaN(x.sort()), chosen)


def smaller(x: Solved, y: Solved) -> Solved:
    """The smaller float; NaN if either is NaN; -0 is smaller than +0."""
    return z3.fpNeg(larger(z3.fpNeg(x), z3.fpNeg(y)))


def float_sign(x: Solved) -> Solved:
    """-1, 1, or x itself where it is a zero or NaN."""
    one = z3.FPVal(1.0, x.sort())
    signed = z3.If(z3.fpIsNegative(x), z3.fpNeg(one), one)
    return z3.If(z3.Or(z3.fpIsZero(x), z3.fpIsNaN(x)), x, signed)


def is_finite(x: Solved) -> Solved:
    """Whether a float is neither infinite nor NaN."""
    return z3.Not(z3.Or(z3.fpIsInf(x), z3.fpIsNaN(x)))


def complex_product(x: Solved, y: Solved) -> Solved:
    """The product by its definition, as `interpreter.numbers.complexes.multiply`."""
    (a, b), (c, d) = parts(x), parts(y)
    real = z3.fpSub(NEAREST, signed_product(a, c), signed_product(b, d))
    return Pair(real, z3.fpAdd(NEAREST, *in_order(signed_product(a, d), signed_product(b, c))))


def signed_product(x: Solved, y: Solved) -> Solved:
    """The product of floats with their signs in front, which NaN does not have here."""
    signs = 0
    while z3.is_app_of(x, z3.Z3_OP_FPA_NEG):
        x, signs = x.arg(0), signs + 1
    while z3.is_app_of(y, z3.Z3_OP_FPA_NEG):
        y, signs = y.arg(0), signs + 1
    product = z3.fpMul(NEAREST, *in_order(x, y))
    return z3.fpNeg(product) if signs % 2 else product


# fmt: off
PREDS: dict[str, Callable[..., Any]] = {
    "add":                    z3.Or,
    "and":                    z3.And,
    "clamp":                  lambda low, x, high: z3.And(z3.Or(low, x), high),
    "maximum":                z3.Or,
    "minimum":                z3.And,
    "multiply":               z3.And,
    "not":                    z3.Not,
    "or":                     z3.Or,
    "xor":                    z3.Xor,
}

INTEGERS: dict[str, Callable[..., Any]] = {
    "add":                    operator.add,
    "and":                    operator.and_,
    "count-leading-zeros":    count_leading_zeros,
    "multiply":               operator.mul,
    "negate":                 operator.neg,
    "not":                    operator.invert,
    "or":                     operator.or_,
    "popcnt":                 count_ones,
    "shift-left":             operator.lshift,
    "shift-right-arithmetic": operator.rshift,
    "shift-right-logical":    z3.LShR,
    "subtract":               operator.sub,
    "xor":                    operator.xor,
}

SIGNED: dict[str, Callable[..., Any]] = INTEGERS | {
    "abs":                    lambda x: z3.If(x < 0, -x, x),
    "clamp":                  lambda low, x, high: between(SIGNED, low, x, high),
    "divide":                 lambda x, y: z3.If(y == 0, -one(x), x / y),
    "maximum":                lambda x, y: z3.If(x >= y, x, y),
    "minimum":                lambda x, y: z3.If(x <= y, x, y),
    "mulhi":                  high_half(z3.SignExt),
    "power":                  signed_power,
    "remainder":              z3.SRem,
    "sign":                   lambda x: z3.If(x < 0, -one(x), z3.If(x == 0, x, one(x))),
}

UNSIGNED: dict[str, Callable[..., Any]] = INTEGERS | {
    "clamp":                  lambda low, x, high: between(UNSIGNED, low, x, high),
    "divide":                 z3.UDiv,
    "maximum":                lambda x, y: z3.If(z3.UGE(x, y), x, y),
    "minimum":                lambda x, y: z3.If(z3.ULE(x, y), x, y),
    "mulhi":                  high_half(z3.ZeroExt),
    "power":                  raised,
    "remainder":              z3.URem,
}

FLOATS: dict[str, Callable[..., Any]] = {
    "abs":                    z3.fpAbs,
    "add":                    lambda x, y: z3.fpAdd(NEAREST, *in_order(x, y)),
    "ceil":                   lambda x: z3.fpRoundToIntegral(z3.RTP(), x),
    "clamp":                  lambda low, x, high: smaller(larger(low, x), high),
    "complex":                Pair,
    "divide":                 lambda x, y: z3.fpDiv(NEAREST, x, y),
    "floor":                  lambda x: z3.fpRoundToIntegral(z3.RTN(), x),
    "imag":                   lambda x: z3.FPVal(0.0, x.sort()),
    "is-finite":              is_finite,
    "maximum":                larger,
    "minimum":                smaller,
    "multiply":               lambda x, y: z3.fpMul(NEAREST, *in_order(x, y)),
    "negate":                 z3.fpNeg,
    "real":                   lambda x: x,
    "round-nearest-afz":      lambda x: z3.fpRoundToIntegral(z3.RNA(), x),
    "round-nearest-even":     lambda x: z3.fpRoundToIntegral(NEAREST, x),
    "sign":                   float_sign,
    "sqrt":                   lambda x: z3.fpSqrt(NEAREST, x),
    "subtract":               lambda x, y: z3.fpSub(NEAREST, x, y),
}

COMPLEXES: dict[str, Callable[..., Any]] = {
    "add":                    lambda x, y: by_parts(FLOATS["add"], x, y),
    "imag":                   lambda x: x.imag,
    "multiply":               complex_product,
    "negate":                 lambda x: by_parts(FLOATS["negate"], x),
    "real":                   lambda x: x.real,
    "subtract":               lambda x, y: by_parts(FLOATS["subtract"], x, y),
}

COMPARISONS: dict[str, dict[str, Callable[..., Any]]] = {
    "pred": {
        "EQ": operator.eq,                       "NE": operator.ne,
        "GE": lambda x, y: z3.Or(x, z3.Not(y)),  "GT": lambda x, y: z3.And(x, z3.Not(y)),
        "LE": lambda x, y: z3.Or(z3.Not(x), y),  "LT": lambda x, y: z3.And(z3.Not(x), y),
    },
    "signed": {
        "EQ": operator.eq, "NE": operator.ne,
        "GE": operator.ge, "GT": operator.gt, "LE": operator.le, "LT": operator.lt,
    },
    "unsigned": {
        "EQ": operator.eq, "NE": operator.ne,
        "GE": z3.UGE,      "GT": z3.UGT,      "LE": z3.ULE,      "LT": z3.ULT,
    },
    "float": {
        "EQ": z3.fpEQ,     "NE": z3.fpNEQ,
        "GE": z3.fpGEQ,    "GT": z3.fpGT,     "LE": z3.fpLEQ,    "LT": z3.fpLT,
    },
    "complex": {
        "EQ": lambda x, y: z3.And(z3.fpEQ(x.real, y.real), z3.fpEQ(x.imag, y.imag)),
        "NE": lambda x, y: z3.Or(z3.fpNEQ(x.real, y.real), z3.fpNEQ(x.imag, y.imag)),
    },
}
# fmt: on

MEANINGS = {
    "pred": PREDS,
    "signed": SIGNED,
    "unsigned": UNSIGNED,
    "float": FLOATS,
    "complex": COMPLEXES,
}


def meaning(opcode: str, element_type: ElementType) -> Callable[..., Any] | None:
    """The meaning of an opcode for terms of a type; None if the solver is not told."""
    if element_type.real.is_floating and element_type.real not in FORMATS:
        return None
    return MEANINGS[element_type.kind].get(opcode)


def unknown(name: str, result: ElementType, *operands: Solved) -> Solved:
    """The value of an unknown function: the same for the same operands."""
    terms = [part for operand in operands for part in parts(operand)]

    def apply(suffix: str, element_type: ElementType) -> Solved:
        sorts = [term.sort() for term in terms]
        spelled = f"{name}{suffix} of {','.join(map(str, sorts))} as {element_type}"
        return z3.Function(spelled, *sorts, sort_of(element_type))(*terms)

    if result.is_complex:
        return Pair(apply(".re", result.real), apply(".im", result.real))
    return apply("", result)
