"""Elementwise opcodes as expressions: one line each, to be read beside the interpreter's lines.

X, Y and Z are the operands' values. {T} is the operand's element type, {C} the type that holds its
values, {f} the suffix of C's functions for it: `f` for f32, nothing for f64. Narrow floats are
computed in f32 and rounded afterwards, once; see `codegen.elements.types`.
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import TYPE_CHECKING

from codegen.elements.table import Scalar, elements
from codegen.elements.types import is_narrow, literal, load, narrowed, store, wide
from codegen.expressions import (
    Apply,
    Cast,
    Choose,
    Expr,
    Group,
    Literal,
    Name,
    Op,
    apply,
    binary,
    negated,
)
from codegen.kinds import number_of
from codegen.walk import rebuilt, substitute
from hlo.attributes import Compare, ReducePrecision
from hlo.types.element_type import ELEMENT_TYPES, F16, F32, PRED
from hlo.types.rounding import ROUNDED_ONCE
from interpreter.conversion import integer_range
from interpreter.numbers.undefined import undefined
from interpreter.numbers.widths import float_format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType

X, Y, Z = map(Name, "xyz")
LARGER = Choose(binary(">", X, Y), X, Y)
# fmt: off
PREDS: dict[str, Expr] = {
    "add":        X | Y,
    "and":        X & Y,
    "clamp":      (X | Y) & Z,
    "maximum":    X | Y,
    "minimum":    X & Y,
    "multiply":   X & Y,
    "not":        negated(X),
    "or":         X | Y,
    "xor":        X ^ Y,
}

# {signed} is the word that stands for the kind of integers.
INTEGERS: dict[str, Expr] = {
    "abs":                    Choose(binary("<", X, 0), -X, X),
    "add":                    X + Y,
    "and":                    X & Y,
    "clamp":                  Choose(binary("<", LARGER, Z), Group(LARGER), Z),
    "count-leading-zeros":    apply("count_leading_zeros_{T}", X),
    "divide":                 apply("divide_{signed}_{T}", X, Y),
    "maximum":                LARGER,
    "minimum":                Choose(binary("<", X, Y), X, Y),
    "mulhi":                  apply("mulhi_{signed}_{T}", X, Y),
    "multiply":               Cast("{C}", X * Y),
    "negate":                 -X,
    "not":                    ~X,
    "or":                     X | Y,
    "popcnt":                 apply("popcnt_{T}", X),
    "power":                  apply("power_{signed}_{T}", X, Y),
    "remainder":              apply("remainder_{signed}_{T}", X, Y),
    "shift-left":             apply("shift_left_{T}", X, Y),
    "shift-right-arithmetic": apply("shift_right_arithmetic_{T}", X, Y),
    "shift-right-logical":    apply("shift_right_logical_{T}", X, Y),
    "sign":                  Cast("{C}", binary(">", X, 0)) - Cast("{C}", binary("<", X, 0)),
    "subtract":               X - Y,
    "xor":                    X ^ Y,
}

# Operations of signed integers that may overflow; they are done by unsigned ones.
WRAPPING: dict[str, Expr] = {
    "abs":      Cast("{C}", Choose(binary("<", X, 0), -Cast("{U}", X), Cast("{U}", X))),
    "add":      Cast("{C}", Cast("{U}", X) + Cast("{U}", Y)),
    "multiply": Cast("{C}", Cast("{U}", X) * Cast("{U}", Y)),
    "negate":   Cast("{C}", -Cast("{U}", X)),
    "subtract": Cast("{C}", Cast("{U}", X) - Cast("{U}", Y)),
}

FLOATS: dict[str, Expr] = {
    "abs":                   apply("__builtin_fabs{f}", X),
    "acos":                  apply("__builtin_acos{f}", X),
    "acosh":                 apply("__builtin_acosh{f}", X),
    "add":                   X + Y,
    "asin":                  apply("__builtin_asin{f}", X),
    "asinh":                 apply("__builtin_asinh{f}", X),
    "atan2":                 apply("atan2_{C}", X, Y),
    "atanh":                 apply("__builtin_atanh{f}", X),
    "cbrt":                  apply("cbrt_{C}", X),
    "ceil":                  apply("__builtin_ceil{f}", X),
    "clamp":                 apply("clamp_{C}", X, Y, Z),
    "complex":               apply("__builtin_complex", X, Y),
    "cosh":                  apply("__builtin_cosh{f}", X),
    "cosine":                apply("cosine_{C}", X),
    "divide":                X / Y,
    "erf":                   apply("erf_{C}", X),
    "exponential":           apply("exp_{C}", X),
    "exponential-minus-one": apply("expm1_{C}", X),
    "floor":                 apply("__builtin_floor{f}", X),
    "imag":                  Literal(0),
    "is-finite":             binary("==", X - X, 0),
    "log":                   apply("log_{C}", X),
    "log-plus-one":          apply("log1p_{C}", X),
    "logistic":              apply("logistic_{C}", X),
    "maximum":               apply("maximum_{C}", X, Y),
    "minimum":               apply("minimum_{C}", X, Y),
    "multiply":              X * Y,
    "negate":                -X,
    "power":                 apply("power_{C}", X, Y),
    "real":                  X,
    "remainder":             apply("remainder_{C}", X, Y),
    "round-nearest-afz":     apply("round_afz_{C}", X),
    "round-nearest-even":    apply("__builtin_rint{f}", X),
    "rsqrt":                 1 / apply("__builtin_sqrt{f}", X),
    "sign":                  apply("sign_{C}", X),
    "sine":                  apply("sine_{C}", X),
    "sinh":                  apply("__builtin_sinh{f}", X),
    "sqrt":                  apply("__builtin_sqrt{f}", X),
    "subtract":              X - Y,
    "tan":                   apply("tangent_{C}", X),
    "tanh":                  apply("tanh_{C}", X),
}

COMPLEXES: dict[str, Expr] = {
    "abs":                   apply("magnitude_{real}", Op("real", (X,)), Op("imag", (X,))),
    "acos":                  apply("__builtin_cacos{f}", X),
    "acosh":                 apply("__builtin_cacosh{f}", X),
    "add":                   X + Y,
    "asin":                  apply("__builtin_casin{f}", X),
    "asinh":                 apply("__builtin_casinh{f}", X),
    "atan2":                 apply("atan2_{T}", X, Y),
    "atanh":                 apply("__builtin_catanh{f}", X),
    "cosh":                  apply("cosh_{T}", X),
    "cosine":                apply("cosine_{T}", X),
    "divide":                apply("divide_{T}", X, Y),
    "exponential":           apply("exp_{T}", X),
    "exponential-minus-one": apply("expm1_{T}", X),
    "imag":                  Op("imag", (X,)),
    "log":                   apply("log_{T}", X),
    "log-plus-one":          apply("log1p_{T}", X),
    "logistic":              apply("logistic_{T}", X),
    "multiply":              apply("multiply_{T}", X, Y),
    "negate":                -X,
    "power":                 apply("power_{T}", X, Y),
    "real":                  Op("real", (X,)),
    "rsqrt":                 apply("rsqrt_{T}", X),
    "sign":                  apply("sign_{T}", X),
    "sine":                  apply("sine_{T}", X),
    "sinh":                  apply("sinh_{T}", X),
    "sqrt":                  apply("sqrt_{T}", X),
    "subtract":              X - Y,
    "tan":                   apply("tangent_{T}", X),
    "tanh":                  apply("tanh_{T}", X),
}
# fmt: on
MEANINGS = {
    "pred": PREDS,
    "signed": INTEGERS,
    "unsigned": INTEGERS,
    "float": FLOATS,
    "complex": COMPLEXES,
}
_DIVISIONS = {"divide": "quotient", "remainder": "remainder"}
_DIRECTIONS = {"EQ": "==", "NE": "!=", "GE": ">=", "GT": ">", "LE": "<=", "LT": "<"}


@cache
def _template(opcode: str, element_type: ElementType) -> Expr | None:
    """An operation on X, Y and Z of a type; None if it means nothing for the type."""
    found = MEANINGS[element_type.kind].get(opcode)
    if found is None:
        return None
    kind = wide(element_type)
    if kind == "u16" and opcode == "multiply":
        # C would multiply two u16 as ints, and overflow.
        found = Cast("{C}", Cast("u32", X) * Y)
    suffix = "f" if kind in ("f32", "c64") else ""
    names = {"T": element_type.name, "real": element_type.real.name, "signed": element_type.kind}
    words = {**names, "C": kind, "f": suffix}
    return _filled(found, words)


def _filled(tree: Expr, words: Mapping[str, str]) -> Expr:
    """A tree with the names of types in its functions and casts."""
    made = rebuilt(tree, lambda inside: _filled(inside, words))
    match made:
        case Apply(function, args):
            return Apply(function.format(**words), args)
        case Cast(kind, value):
            return Cast(number_of(kind).format(**words), value)
        case _:
            return made


def expression(
    opcode: str, element_type: ElementType, *values: Expr, wraps: bool = True
) -> Expr | None:
    """An elementwise operation on values of one type; None if it means nothing for the type.

    Parameters
    ----------
    wraps : signed integers wrap around in the language; else unsigned ones, which always do,
        compute what may overflow.
    """
    template = _template(opcode, element_type)
    if not wraps and element_type.name in ("s32", "s64") and opcode in WRAPPING:
        template = _filled(
            WRAPPING[opcode], {"C": wide(element_type), "U": f"u{element_type.bits}"}
        )
    if template is None:
        return None
    if opcode == "divide" and (factors := _factors_of_reciprocal(values[1])):
        return values[0] * factors[0] * factors[1]
    # Two minus signs in a row would be another operator.
    given = (Group(v) if _begins_with_minus(v) else v for v in values)
    return substitute(template, dict(zip("xyz", given, strict=False)))


def _factors_of_reciprocal(divisor: Expr) -> tuple[Literal, Literal] | None:
    """Two factors for the greatest power of two of a type, whose reciprocal is exact but subnormal.

    A compiler (GCC) would multiply by that, and a processor that flushes take it for 0.
    """
    if not isinstance(divisor, Literal) or divisor.kind not in ("f32", "f64"):
        return None
    most = 127 if divisor.kind == "f32" else 1023
    if abs(divisor.value) != 2.0**most:
        return None
    half = most // 2
    first = Literal(math.copysign(2.0**-half, divisor.value), divisor.kind)
    return first, Literal(2.0 ** (half - most), divisor.kind)


def arithmetic(opcode: str, element_type: ElementType, *values: Expr, wraps: bool = True) -> Expr:
    """A sum, a difference or a product of numbers, as by `expression`."""
    made = expression(opcode, element_type, *values, wraps=wraps)
    assert made is not None, (opcode, element_type)
    return made


def _begins_with_minus(value: Expr) -> bool:
    if isinstance(value, Literal):
        return value.is_negative
    return isinstance(value, Op) and value.op == "-" and len(value.args) == 1


def write_elementwise(opcode: str, instr: Instruction, *values: Expr, wraps: bool = True) -> Expr:
    """One opcode of the tables above.

    Raises
    ------
    HloError
        HLO101 if the opcode means nothing for the operands' type.
    """
    element_type = instr.operands[0].shape.element_type
    if _divides_many(opcode, instr, *values):
        made = Apply(f"lane_{_DIVISIONS[opcode]}_{element_type}", values)
    else:
        made = expression(opcode, element_type, *values, wraps=wraps)
    if made is None:
        raise undefined(opcode, element_type, instr.span)
    return narrowed(instr.shape.element_type, made)


def _divides_many(opcode: str, instr: Instruction, *values: Expr) -> bool:
    """Whether integers are divided in lanes: by numbers that the compiler does not see.

    It multiplies instead of dividing by a literal, and divides one integer faster than one float.
    """
    if opcode not in _DIVISIONS or not instr.operands[0].shape.element_type.is_integer:
        return False
    return instr.shape.rank > 0 and isinstance(values[1], Name)


def write_compare(instr: Instruction, x: Expr, y: Expr) -> Expr:
    """A comparison; floats in total order are compared as integers."""
    attrs = Compare.of(instr)
    element_type = instr.operands[0].shape.element_type
    if attrs.type == "TOTALORDER" and element_type.is_floating:
        x, y = (apply(f"total_order_{wide(element_type)}", v) for v in (x, y))
    if element_type.is_complex and attrs.direction not in ("EQ", "NE"):
        raise undefined(instr.opcode, element_type, instr.span)
    return Op(_DIRECTIONS[attrs.direction], (x, y))


def write_select(instr: Instruction, condition: Expr, on_true: Expr, on_false: Expr) -> Expr:
    """One of two values; of complex ones part by part, as each part has lanes of its own."""
    element_type = instr.shape.element_type
    if element_type.is_complex:
        return apply(f"choose_{element_type}", condition, on_true, on_false)
    return Choose(condition, on_true, on_false)


def write_convert(instr: Instruction, x: Expr) -> Expr:
    """A number in another type."""
    return converted(x, instr.operands[0].shape.element_type, instr.shape.element_type)


def converted(x: Expr, source: ElementType, target: ElementType) -> Expr:
    """A number in another type: wrapped around, rounded, or from floats to integers saturated."""
    if source is target:
        return x
    if target is PRED:
        return binary("!=", x, 0)
    if source is PRED and not target.is_complex:
        # Lanes need no bytes between.
        return Choose(x, *(Cast(wide(target), Literal(number)) for number in (1, 0)))
    if source.is_complex and not target.is_complex:
        x, source = Op("real", (x,)), source.real
    if source.is_floating and target.is_integer:
        return _saturated(x, source, target)
    if wide(source) == "f64" and (target is F16 or target in ROUNDED_ONCE):
        return narrowed(target, apply("odd_f32", x))
    return narrowed(target, Cast(wide(target), x))


def _saturated(x: Expr, source: ElementType, target: ElementType) -> Expr:
    """A float truncated to an integer; beyond the range its end, for NaN 0."""
    kind = ELEMENT_TYPES["f64"] if wide(source) == "f64" else F32
    low, high = integer_range(target)
    ends = [literal(kind, kind.dtype.type(end)) for end in (low, high)]
    lowest, highest = (literal(ELEMENT_TYPES[wide(target)], end) for end in (low, high))
    inside = Choose(binary("==", x, x), Cast(wide(target), x), Literal(0))
    not_above = Choose(binary("<=", x, ends[0]), lowest, inside)
    return Choose(binary(">=", x, ends[1]), highest, not_above)


def write_reduce_precision(instr: Instruction, x: Expr) -> Expr:
    """A float rounded to a format of fewer bits, in its own type.

    Its bits say how; those of the 8-bit floats as the f16 that they fit into.
    """
    attrs = ReducePrecision.of(instr)
    element_type = instr.shape.element_type
    kind = element_type if element_type.bits >= 16 else F16
    form = float_format(kind.dtype)
    infinity = ((1 << form.exponent_bits) - 1) << form.mantissa_bits
    own_bias, bias = ((1 << n - 1) - 1 for n in (form.exponent_bits, attrs.exponent_bits))
    fewer = attrs.exponent_bits < form.exponent_bits
    too_large = (own_bias + bias + 1) << form.mantissa_bits if fewer else infinity
    too_small = (own_bias - bias + 1) << form.mantissa_bits if fewer else 0
    dropped = max(form.mantissa_bits - attrs.mantissa_bits, 0)
    word, sign = f"u{kind.bits}", 1 << (kind.bits - 1)
    bits = store(kind, x) if is_narrow(kind) else apply(f"bits_{kind}", x)
    limits = map(_bits, (infinity, too_large, too_small))
    size = apply("reduced_bits", bits & _bits(sign - 1), dropped, *limits)
    made = Cast(word, size | Group(bits & _bits(sign)))
    result = load(kind, made) if is_narrow(kind) else apply(f"from_bits_{kind}", made)
    return narrowed(element_type, result)


def _bits(number: int) -> Literal:
    return Literal(number, hexadecimal=True)


_NAMES = {opcode for meanings in MEANINGS.values() for opcode in meanings}
elements.define_all(
    {opcode: Scalar(partial(write_elementwise, opcode)) for opcode in sorted(_NAMES)}
)
elements.define_all(
    {
        "compare": Scalar(write_compare),
        "select": Scalar(write_select),
        "convert": Scalar(write_convert),
        "reduce-precision": Scalar(write_reduce_precision),
    }
)
