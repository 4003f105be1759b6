"""What elementwise opcodes are in C: one line each, to be read beside the interpreter's lines.

{0}, {1}, {2} are the operands' values, names of C variables. {T} is the operand's element type, {f}
the suffix of C's functions for it: `f` for f32, nothing for f64. Narrow floats are computed in f32
and rounded afterwards, once; see `emit_c.code.types`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from emit_c.code.types import is_narrow, literal, load, narrowed, store, wide
from emit_c.table import Scalar, emits_c
from hlo.errors.error import HloError
from hlo.types.element_type import ELEMENT_TYPES, F16, F32, PRED
from interpreter.conversion import ROUNDED_ONCE, integer_range
from interpreter.numbers.widths import float_format

if TYPE_CHECKING:
    from hlo.attributes import Compare, ReducePrecision
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType

# fmt: off
PREDS: dict[str, str] = {
    "add":        "{0} | {1}",
    "and":        "{0} & {1}",
    "clamp":      "({0} | {1}) & {2}",
    "maximum":    "{0} | {1}",
    "minimum":    "{0} & {1}",
    "multiply":   "{0} & {1}",
    "not":        "!{0}",
    "or":         "{0} | {1}",
    "xor":        "{0} ^ {1}",
}

# {C} is the C type that holds the values, {signed} the word that stands for their kind.
INTEGERS: dict[str, str] = {
    "abs":                    "{0} < 0 ? -{0} : {0}",
    "add":                    "{0} + {1}",
    "and":                    "{0} & {1}",
    "clamp":                  "({0} > {1} ? {0} : {1}) < {2} ? ({0} > {1} ? {0} : {1}) : {2}",
    "count-leading-zeros":    "count_leading_zeros_{T}({0})",
    "divide":                 "divide_{signed}_{T}({0}, {1})",
    "maximum":                "{0} > {1} ? {0} : {1}",
    "minimum":                "{0} < {1} ? {0} : {1}",
    "mulhi":                  "mulhi_{signed}_{T}({0}, {1})",
    "multiply":               "({C})({product}{0} * {1})",
    "negate":                 "-{0}",
    "not":                    "~{0}",
    "or":                     "{0} | {1}",
    "popcnt":                 "popcnt_{T}({0})",
    "power":                  "power_{signed}_{T}({0}, {1})",
    "remainder":              "remainder_{signed}_{T}({0}, {1})",
    "shift-left":             "shift_left_{T}({0}, {1})",
    "shift-right-arithmetic": "shift_right_arithmetic_{T}({0}, {1})",
    "shift-right-logical":    "shift_right_logical_{T}({0}, {1})",
    "sign":                   "({0} > 0) - ({0} < 0)",
    "subtract":               "{0} - {1}",
    "xor":                    "{0} ^ {1}",
}

FLOATS: dict[str, str] = {
    "abs":                   "__builtin_fabs{f}({0})",
    "acos":                  "__builtin_acos{f}({0})",
    "acosh":                 "__builtin_acosh{f}({0})",
    "add":                   "{0} + {1}",
    "asin":                  "__builtin_asin{f}({0})",
    "asinh":                 "__builtin_asinh{f}({0})",
    "atan2":                 "atan2_{C}({0}, {1})",
    "atanh":                 "__builtin_atanh{f}({0})",
    "cbrt":                  "__builtin_cbrt{f}({0})",
    "ceil":                  "__builtin_ceil{f}({0})",
    "clamp":                 "clamp_{C}({0}, {1}, {2})",
    "complex":               "__builtin_complex({0}, {1})",
    "cosh":                  "__builtin_cosh{f}({0})",
    "cosine":                "cosine_{C}({0})",
    "divide":                "{0} / {1}",
    "erf":                   "erf_{C}({0})",
    "exponential":           "exp_{C}({0})",
    "exponential-minus-one": "expm1_{C}({0})",
    "floor":                 "__builtin_floor{f}({0})",
    "imag":                  "0",
    "is-finite":             "{0} - {0} == 0",
    "log":                   "log_{C}({0})",
    "log-plus-one":          "log1p_{C}({0})",
    "logistic":              "logistic_{C}({0})",
    "maximum":               "maximum_{C}({0}, {1})",
    "minimum":               "minimum_{C}({0}, {1})",
    "multiply":              "{0} * {1}",
    "negate":                "-{0}",
    "power":                 "power_{C}({0}, {1})",
    "real":                  "{0}",
    "remainder":             "__builtin_fmod{f}({0}, {1})",
    "round-nearest-afz":     "round_afz_{C}({0})",
    "round-nearest-even":    "__builtin_rint{f}({0})",
    "rsqrt":                 "1 / __builtin_sqrt{f}({0})",
    "sign":                  "sign_{C}({0})",
    "sine":                  "sine_{C}({0})",
    "sinh":                  "__builtin_sinh{f}({0})",
    "sqrt":                  "__builtin_sqrt{f}({0})",
    "subtract":              "{0} - {1}",
    "tan":                   "tangent_{C}({0})",
    "tanh":                  "tanh_{C}({0})",
}

COMPLEXES: dict[str, str] = {
    "abs":                   "magnitude_{T}({0})",
    "acos":                  "__builtin_cacos{f}({0})",
    "acosh":                 "__builtin_cacosh{f}({0})",
    "add":                   "{0} + {1}",
    "asin":                  "__builtin_casin{f}({0})",
    "asinh":                 "__builtin_casinh{f}({0})",
    "atan2":                 "atan2_{T}({0}, {1})",
    "atanh":                 "__builtin_catanh{f}({0})",
    "cosh":                  "__builtin_ccosh{f}({0})",
    "cosine":                "__builtin_ccos{f}({0})",
    "divide":                "divide_{T}({0}, {1})",
    "exponential":           "__builtin_cexp{f}({0})",
    "exponential-minus-one": "expm1_{T}({0})",
    "imag":                  "__imag__ {0}",
    "log":                   "__builtin_clog{f}({0})",
    "log-plus-one":          "log1p_{T}({0})",
    "logistic":              "logistic_{T}({0})",
    "multiply":              "multiply_{T}({0}, {1})",
    "negate":                "-{0}",
    "power":                 "power_{T}({0}, {1})",
    "real":                  "__real__ {0}",
    "rsqrt":                 "rsqrt_{T}({0})",
    "sign":                  "sign_{T}({0})",
    "sine":                  "__builtin_csin{f}({0})",
    "sinh":                  "__builtin_csinh{f}({0})",
    "sqrt":                  "sqrt_{T}({0})",
    "subtract":              "{0} - {1}",
    "tan":                   "__builtin_ctan{f}({0})",
    "tanh":                  "__builtin_ctanh{f}({0})",
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


def expression(opcode: str, element_type: ElementType, *values: str) -> str | None:
    """An elementwise operation on values of one type; None if it means nothing for the type."""
    template = MEANINGS[element_type.kind].get(opcode)
    if template is None:
        return None
    kind = wide(element_type)
    return template.format(
        # Two minus signs in a row would be another operator.
        *(f"({value})" if value.startswith("-") else value for value in values),
        T=element_type.name,
        C=kind,
        R=element_type.real.name,
        f="f" if kind in ("f32", "c64") else "",
        signed=element_type.kind,
        # C would multiply two u16 as ints, and overflow.
        product="(u32)" if kind == "u16" else "",
    )


def write_elementwise(opcode: str, instr: Instruction, *values: str) -> str:
    """One opcode of the tables above.

    Raises
    ------
    HloError
        HLO101 if the opcode means nothing for the operands' type.
    """
    element_type = instr.operands[0].shape.element_type
    if _divides_many(opcode, instr, *values):
        made = f"lane_{_DIVISIONS[opcode]}_{element_type}({', '.join(values)})"
    else:
        made = expression(opcode, element_type, *values)
    if made is None:
        raise HloError("HLO101", f"{opcode} is not defined for {element_type}", instr.span)
    return narrowed(instr.shape.element_type, made)


def _divides_many(opcode: str, instr: Instruction, *values: str) -> bool:
    """Whether integers are divided in lanes: by numbers that the compiler does not see.

    It multiplies instead of dividing by a literal, and divides one integer faster than one float.
    """
    if opcode not in _DIVISIONS or not instr.operands[0].shape.element_type.is_integer:
        return False
    return instr.shape.rank > 0 and values[1].isidentifier()


def write_compare(instr: Instruction, x: str, y: str) -> str:
    """A comparison; floats in total order are compared as integers."""
    attrs: Compare = instr.attrs  # type: ignore[assignment]
    element_type = instr.operands[0].shape.element_type
    if attrs.type == "TOTALORDER" and element_type.is_floating:
        x, y = (f"total_order_{wide(element_type)}({v})" for v in (x, y))
    if element_type.is_complex and attrs.direction not in ("EQ", "NE"):
        raise HloError("HLO101", "complex numbers have no order", instr.span)
    return f"{x} {_DIRECTIONS[attrs.direction]} {y}"


def write_select(_instr: Instruction, condition: str, on_true: str, on_false: str) -> str:
    """One of two values."""
    return f"{condition} ? {on_true} : {on_false}"


def write_convert(instr: Instruction, x: str) -> str:
    """A number in another type."""
    return converted(x, instr.operands[0].shape.element_type, instr.shape.element_type)


def converted(x: str, source: ElementType, target: ElementType) -> str:
    """A number in another type: wrapped around, rounded, or from floats to integers saturated."""
    if source is target:
        return x
    if target is PRED:
        return f"{x} != 0"
    if source is PRED and not target.is_complex:
        return f"{x} ? ({wide(target)})1 : ({wide(target)})0"  # lanes need no bytes between
    if source.is_complex and not target.is_complex:
        x, source = f"__real__ {x}", source.real
    if source.is_floating and target.is_integer:
        return _saturated(x, source, target)
    if wide(source) == "f64" and (target is F16 or target in ROUNDED_ONCE):
        return narrowed(target, f"odd_f32({x})")
    return narrowed(target, f"({wide(target)}){x}")


def _saturated(x: str, source: ElementType, target: ElementType) -> str:
    """A float truncated to an integer; beyond the range its end, for NaN 0."""
    kind = ELEMENT_TYPES["f64"] if wide(source) == "f64" else F32
    low, high = integer_range(target)
    ends = [literal(kind, kind.dtype.type(end)) for end in (low, high)]
    lowest, highest = (literal(ELEMENT_TYPES[wide(target)], end) for end in (low, high))
    inside = f"{x} == {x} ? ({wide(target)}){x} : 0"
    return f"{x} >= {ends[1]} ? {highest} : {x} <= {ends[0]} ? {lowest} : {inside}"


def write_reduce_precision(instr: Instruction, x: str) -> str:
    """A float rounded to a format of fewer bits, in its own type.

    Its bits say how; those of the 8-bit floats as the f16 that they fit into.
    """
    attrs: ReducePrecision = instr.attrs  # type: ignore[assignment]
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
    bits = store(kind, x) if is_narrow(kind) else f"bits_{kind}({x})"
    limits = f"{infinity:#x}, {too_large:#x}, {too_small:#x}"
    size = f"reduced_bits({bits} & {sign - 1:#x}, {dropped}, {limits})"
    made = f"({word})({size} | ({bits} & {sign:#x}))"
    result = load(kind, made) if is_narrow(kind) else f"from_bits_{kind}({made})"
    return narrowed(element_type, result)


_NAMES = {opcode for meanings in MEANINGS.values() for opcode in meanings}
emits_c.define_all(
    {opcode: Scalar(partial(write_elementwise, opcode)) for opcode in sorted(_NAMES)}
)
emits_c.define_all(
    {
        "compare": Scalar(write_compare),
        "select": Scalar(write_select),
        "convert": Scalar(write_convert),
        "reduce-precision": Scalar(write_reduce_precision),
    }
)
