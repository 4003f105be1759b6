"""Operations element by element."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from hlo.types.element_type import ELEMENT_TYPES, PRED, S32
from hlo.types.shape import array
from hlo_torch.operations.table import (
    RULES,
    Unsupported,
    Value,
    aten,
    broadcast,
    common,
    converted,
    floats_of,
    to_shape,
)
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape

# ATen's name -> HLO's, where the operand is converted to the result's type.
UNARY = {
    **{name: name for name in ("ceil", "floor", "neg", "sign", "sqrt", "rsqrt", "erf", "tan")},
    **{name: name for name in ("tanh", "cosh", "sinh", "acos", "asin", "atanh", "acosh", "asinh")},
    "neg": "negate",
    "exp": "exponential",
    "expm1": "exponential-minus-one",
    "log": "log",
    "log1p": "log-plus-one",
    "sin": "sine",
    "cos": "cosine",
    "sigmoid": "logistic",
    "round": "round-nearest-even",
    "bitwise_not": "not",
    "sgn": "sign",
}
BINARY = {
    "mul": "multiply",
    "maximum": "maximum",
    "minimum": "minimum",
    "atan2": "atan2",
    "fmod": "remainder",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "__and__": "and",
    "__or__": "or",
    "__xor__": "xor",
    "bitwise_left_shift": "shift-left",
    "bitwise_right_shift": "shift-right-arithmetic",
    "__lshift__": "shift-left",
    "__rshift__": "shift-right-arithmetic",
}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def _unary(opcode: str, out: Shape, x: Value) -> Instruction:
    """In f32 where the floats are smaller: so torch rounds once."""
    wide = floats_of(out.element_type) if out.element_type.is_floating else out.element_type
    return converted(make(opcode, to_shape(out.with_type(wide), x)), out.element_type)


def _binary(opcode: str, out: Shape, x: Value, y: Value) -> Instruction:
    # XLA's preds have no product; theirs is their conjunction.
    opcode = "and" if opcode == "multiply" and out.element_type is PRED else opcode
    return make(opcode, to_shape(out, x), to_shape(out, y))


def _compare(direction: str, out: Shape, x: Value, y: Value) -> Instruction:
    kind = common(x, y)
    both = (to_shape(array(kind, out.dims), v) for v in (x, y))
    return make("compare", *both, direction=direction)


for _name, _opcode in UNARY.items():
    RULES[f"{_name}.default"] = partial(_unary, _opcode)
for _name, _opcode in BINARY.items():
    for _form in ("default", "Tensor", "Scalar", "Scalar_Tensor", "Tensor_Scalar"):
        RULES[f"{_name}.{_form}"] = partial(_binary, _opcode)
for _name in COMPARISONS:
    for _form in ("Tensor", "Scalar"):
        RULES[f"{_name}.{_form}"] = partial(_compare, _name.upper())


@aten(*("clone.default", "alias.default", "detach.default", "lift_fresh_copy.default"))
@aten(*("_to_copy.default", "contiguous.default", "lift_fresh.default", "lift.default"))
@aten("copy.default")
def same(out: Shape, x: Value, *others: Value, **_: Any) -> Instruction:
    """The same numbers, perhaps in another element type; `copy` takes them from its second one."""
    return to_shape(out, others[0] if others else x)


@aten("signbit.default")
def signbit(_out: Shape, x: Instruction) -> Instruction:
    """Whether the sign is negative, that of -0 as well."""
    kind = x.shape.element_type
    if not kind.is_floating:
        return x < 0 if kind is not PRED else splat(False, x.shape)
    return make("bitcast-convert", x, shape=x.shape.with_type(ELEMENT_TYPES[f"s{kind.bits}"])) < 0


@aten("copysign.Tensor", "copysign.Scalar")
def copysign(out: Shape, x: Value, y: Value) -> Instruction:
    """The absolute value of one number with the sign of another."""
    size = make("abs", to_shape(out, x))
    return make("select", signbit(out, to_shape(out, y)), make("negate", size), size)


@aten("fmax.default")
def fmax(out: Shape, x: Value, y: Value, opcode: str = "maximum") -> Instruction:
    """The greater one of two numbers; NaN only where both are."""
    x, y = to_shape(out, x), to_shape(out, y)
    if not out.element_type.is_floating:
        return make(opcode, x, y)
    chosen = make("select", isnan(out, y), x, make(opcode, x, y))
    return make("select", isnan(out, x), y, chosen)


RULES["fmin.default"] = partial(fmax, opcode="minimum")


@aten("hypot.default")
def hypot(out: Shape, x: Value, y: Value) -> Instruction:
    """The length of a vector of two numbers, whose squares may be too large."""
    x, y = (make("abs", to_shape(out, v)) for v in (x, y))
    most, least = make("maximum", x, y), make("minimum", x, y)
    share = least / most
    made = most * make("sqrt", share * share + 1)
    plain = make("or", make("compare", most, splat(0, out), direction="EQ"),
                 make("compare", most, splat(math.inf, out), direction="EQ"))  # fmt: skip
    return make("select", plain, most, made)


@aten("ldexp.Tensor")
def ldexp(out: Shape, x: Value, power_: Value) -> Instruction:
    """X times a power of two."""
    return to_shape(out, x) * make("power", splat(2, out), to_shape(out, power_))


@aten("convert_element_type.default")
def convert(out: Shape, x: Value, _kind: Any) -> Instruction:
    """The same numbers in another element type."""
    return to_shape(out, x)


@aten("add.Tensor", "add.Scalar")
def add(out: Shape, x: Value, y: Value, *, alpha: Value = 1) -> Instruction:
    """X + alpha y."""
    if out.element_type is PRED:
        return make("or", to_shape(out, x), to_shape(out, y))
    scaled = to_shape(out, y)
    return to_shape(out, x) + (scaled if alpha == 1 else scaled * alpha)


@aten("sub.Tensor", "sub.Scalar")
def sub(out: Shape, x: Value, y: Value, *, alpha: Value = 1) -> Instruction:
    """X - alpha y."""
    scaled = to_shape(out, y)
    return to_shape(out, x) - (scaled if alpha == 1 else scaled * alpha)


@aten("rsub.Tensor", "rsub.Scalar")
def rsub(out: Shape, x: Value, y: Value, *, alpha: Value = 1) -> Instruction:
    """Y - alpha x."""
    return sub(out, y, x, alpha=alpha)


@aten("div.Tensor", "div.Scalar", "div.default", "true_divide.Tensor")
def div(out: Shape, x: Value, y: Value) -> Instruction:
    """X / y, in floats."""
    return to_shape(out, x) / to_shape(out, y)


@aten("div.Tensor_mode", "div.Scalar_mode")
def div_mode(out: Shape, x: Value, y: Value, *, rounding_mode: str | None) -> Instruction:
    """A quotient rounded down, or towards zero."""
    quotient = div(out, x, y)
    if rounding_mode is None:
        return quotient
    if out.element_type.is_integer:
        return floor_divide(out, x, y) if rounding_mode == "floor" else quotient
    return _unary("floor", out, quotient) if rounding_mode == "floor" else trunc(out, quotient)


@aten("floor_divide.default")
def floor_divide(out: Shape, x: Value, y: Value) -> Instruction:
    """A quotient rounded down."""
    a, b = to_shape(out, x), to_shape(out, y)
    if not out.element_type.is_integer:
        return make("floor", a / b)
    return (a - remainder(out, a, b)) / b


@aten("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(out: Shape, x: Value, y: Value) -> Instruction:
    """The rest of a division rounded down, as Python's %."""
    a, b = to_shape(out, x), to_shape(out, y)
    rest, zero = make("remainder", a, b), splat(0, out)
    differs = make("compare", rest, zero, direction="NE")
    signs = make("xor", rest < 0, b < 0)
    return make("select", differs & signs, rest + b, rest)


@aten("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def power(out: Shape, x: Value, y: Value) -> Instruction:
    """X to the power of y; small whole powers are products."""
    base = to_shape(out, x)
    if y == 2:
        return base * base
    if y == 3:
        return base * base * base
    if y == 0.5 and out.element_type.is_floating:
        return make("sqrt", base)
    return make("power", base, to_shape(out, y))


@aten("abs.default")
def absolute(out: Shape, x: Instruction) -> Instruction:
    """The absolute value, which of a complex number is real."""
    return converted(make("abs", x), out.element_type)


@aten("trunc.default", "fix.default")
def trunc(out: Shape, x: Value) -> Instruction:
    """A number rounded towards zero."""
    value = to_shape(out, x)
    if not out.element_type.is_floating:
        return value
    return make("select", value < 0, make("ceil", value), make("floor", value))


@aten("relu.default")
def relu(out: Shape, x: Value) -> Instruction:
    """The greater one of a number and zero."""
    return make("maximum", to_shape(out, x), splat(0, out))


@aten("reciprocal.default")
def reciprocal(out: Shape, x: Value) -> Instruction:
    """1 / x."""
    return splat(1, out) / to_shape(out, x)


@aten("square.default")
def square(out: Shape, x: Value) -> Instruction:
    """The product of a number with itself."""
    return to_shape(out, x) * to_shape(out, x)


@aten("atan.default")
def atan(out: Shape, x: Value) -> Instruction:
    """The angle with a tangent."""
    return make("atan2", to_shape(out, x), splat(1, out))


@aten("log2.default", "log10.default")
def log2(out: Shape, x: Value, base: float = 2) -> Instruction:
    """The logarithm to base 2."""
    return make("log", to_shape(out, x)) * (1 / math.log(base))


RULES["log10.default"] = partial(log2, base=10)


@aten("exp2.default")
def exp2(out: Shape, x: Value) -> Instruction:
    """2 to the power of x."""
    return make("power", splat(2, out), to_shape(out, x))


@aten("logical_not.default")
def logical_not(out: Shape, x: Value) -> Instruction:
    """Whether a number is zero."""
    return make("not", to_shape(out, x))


@aten("logical_and.default", "logical_or.default", "logical_xor.default")
def logical(out: Shape, x: Value, y: Value, opcode: str = "and") -> Instruction:
    """A connection of truth values: of numbers, whether they are zero."""
    return make(opcode, to_shape(out, x), to_shape(out, y))


RULES["logical_or.default"] = partial(logical, opcode="or")
RULES["logical_xor.default"] = partial(logical, opcode="xor")


@aten("isnan.default")
def isnan(_out: Shape, x: Instruction) -> Instruction:
    """Whether a number is none."""
    return make("compare", x, x, direction="NE")


@aten("isinf.default")
def isinf(_out: Shape, x: Instruction) -> Instruction:
    """Whether a number is infinite."""
    return make("compare", make("abs", x), splat(math.inf, x.shape), direction="EQ")


@aten("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(out: Shape, condition: Instruction, x: Value, y: Value) -> Instruction:
    """One of two values each."""
    chosen = broadcast(converted(condition, PRED), out.dims)
    return make("select", chosen, to_shape(out, x), to_shape(out, y))


@aten("clamp.default", "clamp.Tensor", "hardtanh.default")
def clamp(
    out: Shape, x: Value, least: Value | None = None, most: Value | None = None, **named: Value
) -> Instruction:
    """A number no less than one and no greater than another."""
    value, least, most = to_shape(out, x), named.get("min", least), named.get("max", most)
    if least is not None:
        value = make("maximum", value, to_shape(out, least))
    return value if most is None else make("minimum", value, to_shape(out, most))


RULES["clamp_min.default"] = RULES["clamp_min.Tensor"] = partial(_binary, "maximum")
RULES["clamp_max.default"] = RULES["clamp_max.Tensor"] = partial(_binary, "minimum")


@aten("view.dtype")
def bits(out: Shape, x: Instruction, kind: ElementType) -> Instruction:
    """The same bytes as another element type."""
    if kind.bits != x.shape.element_type.bits:
        raise Unsupported("elements of another width")
    return make("bitcast-convert", x, shape=out)


@aten("full.default", "full_like.default", "scalar_tensor.default", "new_full.default")
def full(out: Shape, *args: Any, **_: Any) -> Instruction:
    """One number everywhere."""
    return to_shape(out, args[-1])


@aten(*("zeros.default", "zeros_like.default", "new_zeros.default"))
@aten("_efficientzerotensor.default")
@aten("new_empty.default", "empty_like.default", "empty_permuted.default")
@aten("new_empty_strided.default")
def zeros(out: Shape, *_args: Any, **_: Any) -> Instruction:
    """Zeros; memory that holds anything has them, too."""
    return splat(0, out)


@aten("ones.default", "ones_like.default", "new_ones.default")
def ones(out: Shape, *_args: Any, **_: Any) -> Instruction:
    """Ones."""
    return splat(1, out)


@aten("arange.start_step", "arange.start", "arange.default")
def arange(out: Shape, *args: Any, **_: Any) -> Instruction:
    """Numbers from a start, in equal steps."""
    start, step = args[0] if len(args) > 1 else 0, args[2] if len(args) > 2 else 1
    return _steps(out, start, step)


@aten("iota.default")
def iota(out: Shape, _length: int, *, start: int, step: int, **_: Any) -> Instruction:
    """Whole numbers from a start, in equal steps."""
    return _steps(out, start, step)


def _steps(out: Shape, start: Any, step: Any) -> Instruction:
    made = make("iota", shape=out, iota_dimension=0)
    made = made if step == 1 else made * step
    return made if start == 0 else made + start


@aten("eye.default", "eye.m")
def eye(out: Shape, *_args: int, **_: Any) -> Instruction:
    """Ones on the diagonal."""
    index = array(S32, out.dims)
    rows, columns = (make("iota", shape=index, iota_dimension=k) for k in (0, 1))
    return converted(make("compare", rows, columns, direction="EQ"), out.element_type)
