"""Elementwise opcodes as expressions: one line each, to be read beside the interpreter's lines.

X, Y and Z are the operands' values. T stands for the operand's element type, C for the type that
holds its values, U for the unsigned integers of its width, PART for the parts of complex numbers.
Narrow floats are computed in f32 and rounded afterwards, once; see `codegen.elements.types`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from codegen.callees import BUILTINS, FUNCTIONS
from codegen.elements.table import Scalar, elements
from codegen.elements.types import literal, load, narrowed, store
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
from codegen.kinds import is_narrow, wide
from codegen.walk import rebuilt, substitute
from hlo.attributes import Compare, ReducePrecision
from hlo.types.element_type import ELEMENT_TYPES, F16, F32, OPAQUE, PRED, U16
from hlo.types.limits import integer_range
from hlo.types.rounding import ROUNDED_ONCE
from interpreter.numbers.undefined import undefined
from interpreter.numbers.widths import float_format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType

X, Y, Z = map(Name, "xyz")
T, C, U, PART = (replace(OPAQUE, name=f"{{{name}}}") for name in ("T", "C", "U", "part"))
PARTS = Op("real", (X,)), Op("imag", (X,))
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

INTEGERS: dict[str, Expr] = {
    "abs":                    Choose(binary("<", X, 0), -X, X),
    "add":                    X + Y,
    "and":                    X & Y,
    "clamp":                  Choose(binary("<", LARGER, Z), Group(LARGER), Z),
    "count-leading-zeros":    apply(FUNCTIONS["count_leading_zeros", T], X),
    "maximum":                LARGER,
    "minimum":                Choose(binary("<", X, Y), X, Y),
    "multiply":               Cast(C.name, X * Y),
    "negate":                 -X,
    "not":                    ~X,
    "or":                     X | Y,
    "popcnt":                 apply(FUNCTIONS["popcnt", T], X),
    "shift-left":             apply(FUNCTIONS["shift_left", T], X, Y),
    "shift-right-arithmetic": apply(FUNCTIONS["shift_right_arithmetic", T], X, Y),
    "shift-right-logical":    apply(FUNCTIONS["shift_right_logical", T], X, Y),
    "sign":                  Cast(C.name, binary(">", X, 0)) - Cast(C.name, binary("<", X, 0)),
    "subtract":               X - Y,
    "xor":                    X ^ Y,
}

# Operations of signed integers that may overflow; they are done by unsigned ones.
WRAPPING: dict[str, Expr] = {
    "abs":      Cast(C.name, Choose(binary("<", X, 0), -Cast(U.name, X), Cast(U.name, X))),
    "add":      Cast(C.name, Cast(U.name, X) + Cast(U.name, Y)),
    "multiply": Cast(C.name, Cast(U.name, X) * Cast(U.name, Y)),
    "negate":   Cast(C.name, -Cast(U.name, X)),
    "subtract": Cast(C.name, Cast(U.name, X) - Cast(U.name, Y)),
}

FLOATS: dict[str, Expr] = {
    "abs":                   apply(BUILTINS["fabs", C], X),
    "acos":                  apply(BUILTINS["acos", C], X),
    "acosh":                 apply(BUILTINS["acosh", C], X),
    "add":                   X + Y,
    "asin":                  apply(BUILTINS["asin", C], X),
    "asinh":                 apply(BUILTINS["asinh", C], X),
    "atan2":                 apply(FUNCTIONS["atan2", C], X, Y),
    "atanh":                 apply(BUILTINS["atanh", C], X),
    "cbrt":                  apply(FUNCTIONS["cbrt", C], X),
    "ceil":                  apply(BUILTINS["ceil", C], X),
    "clamp":                 apply(FUNCTIONS["clamp", C], X, Y, Z),
    "complex":               apply(BUILTINS["complex"], X, Y),
    "cosh":                  apply(BUILTINS["cosh", C], X),
    "cosine":                apply(FUNCTIONS["cosine", C], X),
    "divide":                X / Y,
    "erf":                   apply(FUNCTIONS["erf", C], X),
    "exponential":           apply(FUNCTIONS["exp", C], X),
    "exponential-minus-one": apply(FUNCTIONS["expm1", C], X),
    "floor":                 apply(BUILTINS["floor", C], X),
    "imag":                  Literal(0),
    "is-finite":             binary("==", X - X, 0),
    "log":                   apply(FUNCTIONS["log", C], X),
    "log-plus-one":          apply(FUNCTIONS["log1p", C], X),
    "logistic":              apply(FUNCTIONS["logistic", C], X),
    "maximum":               apply(FUNCTIONS["maximum", C], X, Y),
    "minimum":               apply(FUNCTIONS["minimum", C], X, Y),
    "multiply":              X * Y,
    "negate":                -X,
    "power":                 apply(FUNCTIONS["power", C], X, Y),
    "real":                  X,
    "remainder":             apply(FUNCTIONS["remainder", C], X, Y),
    "round-nearest-afz":     apply(FUNCTIONS["round_afz", C], X),
    "round-nearest-even":    apply(BUILTINS["rint", C], X),
    "rsqrt":                 1 / apply(BUILTINS["sqrt", C], X),
    "sign":                  apply(FUNCTIONS["sign", C], X),
    "sine":                  apply(FUNCTIONS["sine", C], X),
    "sinh":                  apply(BUILTINS["sinh", C], X),
    "sqrt":                  apply(BUILTINS["sqrt", C], X),
    "subtract":              X - Y,
    "tan":                   apply(FUNCTIONS["tangent", C], X),
    "tanh":                  apply(FUNCTIONS["tanh", C], X),
}

COMPLEXES: dict[str, Expr] = {
    "abs":                   apply(FUNCTIONS["magnitude", PART], *PARTS),
    "acos":                  apply(BUILTINS["acos", T], X),
    "acosh":                 apply(BUILTINS["acosh", T], X),
    "add":                   X + Y,
    "asin":                  apply(BUILTINS["asin", T], X),
    "asinh":                 apply(BUILTINS["asinh", T], X),
    "atan2":                 apply(FUNCTIONS["atan2", T], X, Y),
    "atanh":                 apply(BUILTINS["atanh", T], X),
    "cosh":                  apply(FUNCTIONS["cosh", T], X),
    "cosine":                apply(FUNCTIONS["cosine", T], X),
    "divide":                apply(FUNCTIONS["divide", T], X, Y),
    "exponential":           apply(FUNCTIONS["exp", T], X),
    "exponential-minus-one": apply(FUNCTIONS["expm1", T], X),
    "imag":                  Op("imag", (X,)),
    "log":                   apply(FUNCTIONS["log", T], X),
    "log-plus-one":          apply(FUNCTIONS["log1p", T], X),
    "logistic":              apply(FUNCTIONS["logistic", T], X),
    "multiply":              apply(FUNCTIONS["multiply", T], X, Y),
    "negate":                -X,
    "power":                 apply(FUNCTIONS["power", T], X, Y),
    "real":                  Op("real", (X,)),
    "rsqrt":                 apply(FUNCTIONS["rsqrt", T], X),
    "sign":                  apply(FUNCTIONS["sign", T], X),
    "sine":                  apply(FUNCTIONS["sine", T], X),
    "sinh":                  apply(FUNCTIONS["sinh", T], X),
    "sqrt":                  apply(FUNCTIONS["sqrt", T], X),
    "subtract":              X - Y,
    "tan":                   apply(FUNCTIONS["tangent", T], X),
    "tanh":                  apply(FUNCTIONS["tanh", T], X),
}
# fmt: on


def _of_sign(kind: str) -> dict[str, Expr]:
    """The operations whose functions differ for signed and unsigned integers."""
    # Division and what is built on it read the sign; all else is the same in two's complement.
    opcodes = ("divide", "mulhi", "power", "remainder")
    return {opcode: apply(FUNCTIONS[f"{opcode}_{kind}", T], X, Y) for opcode in opcodes}


MEANINGS = {
    "pred": PREDS,
    "signed": INTEGERS | _of_sign("signed"),
    "unsigned": INTEGERS | _of_sign("unsigned"),
    "float": FLOATS,
    "complex": COMPLEXES,
}
_DIVISIONS = {"divide": "quotient", "remainder": "remainder"}
_DIRECTIONS = {"EQ": "==", "NE": "!=", "GE": ">=", "GT": ">", "LE": "<=", "LT": "<"}


@cache
def _template(opcode: str, element_type: ElementType) -> Expr | None:
    """An operation on X, Y and Z of a type; None if it means nothing for the type."""
    template = MEANINGS[element_type.kind].get(opcode)
    if template is None:
        return None
    kind = ELEMENT_TYPES[wide(element_type)]
    if kind is U16 and opcode == "multiply":
        # C would multiply two u16 as ints, and overflow.
        template = Cast(C.name, Cast("u32", X) * Y)
    return _filled(template, {T: element_type, C: kind, PART: element_type.real})


def _filled(tree: Expr, types: Mapping[ElementType, ElementType]) -> Expr:
    """A tree with types instead of T, C, U and PART in its functions and casts."""
    filled = rebuilt(tree, lambda inside: _filled(inside, types))
    match filled:
        case Apply(function, args) if function.type is not None:
            return Apply(function.of(types[function.type]), args)
        case Cast(kind, value):
            return Cast(next((t.name for p, t in types.items() if p.name == kind), kind), value)
        case _:
            return filled


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
            WRAPPING[opcode], {C: element_type, U: ELEMENT_TYPES[f"u{element_type.bits}"]}
        )
    if template is None:
        return None
    if opcode == "divide" and (factors := _factors_of_reciprocal(values[1])):
        return values[0] * factors[0] * factors[1]
    # Two minus signs in a row would be another operator.
    arguments = (Group(v) if _begins_with_minus(v) else v for v in values)
    return substitute(template, dict(zip("xyz", arguments, strict=False)))


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
    result = expression(opcode, element_type, *values, wraps=wraps)
    assert result is not None, (opcode, element_type)
    return result


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
        result = Apply(FUNCTIONS[f"lane_{_DIVISIONS[opcode]}", element_type], values)
    else:
        result = expression(opcode, element_type, *values, wraps=wraps)
    if result is None:
        raise undefined(opcode, element_type, instr.span)
    return narrowed(instr.shape.element_type, result)


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
        order = FUNCTIONS["total_order", ELEMENT_TYPES[wide(element_type)]]
        x, y = (apply(order, v) for v in (x, y))
    if element_type.is_complex and attrs.direction not in ("EQ", "NE"):
        raise undefined(instr.opcode, element_type, instr.span)
    return Op(_DIRECTIONS[attrs.direction], (x, y))


def write_select(instr: Instruction, condition: Expr, on_true: Expr, on_false: Expr) -> Expr:
    """One of two values; of complex ones part by part, as each part has lanes of its own."""
    element_type = instr.shape.element_type
    if element_type.is_complex:
        return apply(FUNCTIONS["choose", element_type], condition, on_true, on_false)
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
        return narrowed(target, apply(FUNCTIONS["odd", F32], x))
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
    bits = store(kind, x) if is_narrow(kind) else apply(FUNCTIONS["bits", kind], x)
    limits = map(_bits, (infinity, too_large, too_small))
    size = apply(FUNCTIONS["reduced_bits"], bits & _bits(sign - 1), dropped, *limits)
    whole = Cast(word, size | Group(bits & _bits(sign)))
    result = load(kind, whole) if is_narrow(kind) else apply(FUNCTIONS["from_bits", kind], whole)
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
