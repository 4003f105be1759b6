"""How each element type is stored and computed with in C.

The C names of the types are HLO's own: f32, s8, bf16. An element is stored as NumPy stores it, so
arrays go in and out as they are: s4 takes a byte, with its high half zero. Types that C cannot
compute with are widened when loaded (`load_bf16`), and narrowed once after each operation
(`narrow_bf16`), exactly as the interpreter does. In registers a value is always of its wide type.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from codegen.expressions import Apply, Cast, Literal
from codegen.printer import shown
from hlo.types.element_type import ELEMENT_TYPES, ElementType
from interpreter.numbers.widths import float_format

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from codegen.expressions import Expr

# Made of the compiler's own names for widths, so that no header is needed.
TYPEDEFS = """\
typedef __INT8_TYPE__ s8;
typedef __INT16_TYPE__ s16;
typedef __INT32_TYPE__ s32;
typedef __INT64_TYPE__ s64;
typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;
typedef float f32;
typedef double f64;
typedef float _Complex c64;
typedef double _Complex c128;
typedef u8 pred;
"""
_NATIVE = {
    *("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"),
    *("f32", "f64", "c64", "c128", "pred"),
}
OTHERS = tuple(
    t.name for t in ELEMENT_TYPES.values() if t.is_array and t.name not in _NATIVE
)  # stored as their bytes


def wide(element_type: ElementType) -> str:
    """The C type in which values of an element type are computed."""
    if element_type.name in _NATIVE:
        return element_type.name
    return "f32" if element_type.is_floating else "s8" if element_type.kind == "signed" else "u8"


def is_narrow(element_type: ElementType) -> bool:
    """Whether values are widened when loaded."""
    return element_type.name not in _NATIVE


def load(element_type: ElementType, place: Expr) -> Expr:
    """The wide value of what is stored at a place."""
    return Apply(f"load_{element_type}", (place,)) if is_narrow(element_type) else place


def store(element_type: ElementType, value: Expr) -> Expr:
    """What is stored for a wide value that is already narrowed."""
    return Apply(f"store_{element_type}", (value,)) if is_narrow(element_type) else value


def narrowed(element_type: ElementType, value: Expr) -> Expr:
    """A result in its element type, as a wide value: rounded or wrapped around."""
    if element_type is ELEMENT_TYPES["pred"] or not is_narrow(element_type):
        return value
    return Apply(f"narrow_{element_type}", (value,))


def stored_narrowed(element_type: ElementType, narrow: Expr) -> Expr | None:
    """What is stored for a call of `narrow_...`, without a way back; None for other expressions."""
    if isinstance(narrow, Apply) and narrow.function == f"narrow_{element_type}":
        return Apply(f"store_{element_type}", narrow.args)
    return None


def literal(element_type: ElementType, value: Any) -> Expr:
    """One number as a wide value."""
    number: NDArray[Any] = np.asarray(value)
    if element_type.kind == "complex":
        part = ELEMENT_TYPES["f32" if element_type.name == "c64" else "f64"]
        whole: Any = number
        parts = (Cast(part.name, literal(part, x)) for x in (whole.real, whole.imag))
        return Apply("__builtin_complex", tuple(parts))
    if element_type.is_floating:
        return Literal(float(number), wide(element_type))
    sign = "u" if element_type.kind == "unsigned" else "s"
    if element_type.bits == 64:
        return Literal(int(number), f"{sign}64")
    return Literal(int(number), "u32" if sign == "u" else "")


def conversions(element_type: ElementType) -> str:
    """The C functions that load, store and narrow a type, but for bf16 and f16, whose are written.

    The 8-bit floats and smaller ones are loaded from a table of all their values.
    """
    name = element_type.name
    if not element_type.is_floating:
        kind, mask = wide(element_type), (1 << element_type.bits) - 1
        shift = 8 - element_type.bits
        return (
            f"static inline {kind} load_{name}({name} x) {{\n"
            f"  return ({kind})(({kind})(x << {shift}) >> {shift});\n}}\n\n"
            f"static inline {name} store_{name}({kind} x) {{\n"
            f"  return ({name})(x & {mask});\n}}\n\n" + _narrow(name, kind)
        )
    if element_type.bits == 16:
        return _narrow(name, "f32")
    return f"{_values(element_type)}\n{_encode(element_type)}\n{_narrow(name, 'f32')}"


def _narrow(name: str, kind: str) -> str:
    body = f"  return load_{name}(store_{name}(x));\n"
    return f"static inline {kind} narrow_{name}({kind} x) {{\n{body}}}\n"


def _values(element_type: ElementType) -> str:
    """A table of all values, by their codes."""
    width = float_format(element_type.dtype).bits
    codes = np.arange(2**width, dtype=np.uint8).view(element_type.dtype)
    rows = [shown(Literal(float(value), "f32")) for value in codes]
    lines = [", ".join(rows[i : i + 8]) for i in range(0, len(rows), 8)]
    table = ",\n  ".join(lines)
    name = element_type.name
    return (
        f"static const f32 values_{name}[{len(rows)}] = {{\n  {table}}};\n\n"
        f"static inline f32 load_{name}({name} x) {{\n"
        f"  return values_{name}[x & {len(rows) - 1}];\n}}\n"
    )


def _code(element_type: ElementType, number: float) -> int:
    with np.errstate(all="ignore"):
        return int(np.asarray(number, np.float32).astype(element_type.dtype).view(np.uint8))


def _encode(element_type: ElementType) -> str:
    """The function that rounds to a float of at most 8 bits; its constants are asked of NumPy."""
    name = element_type.name
    form, info = float_format(element_type.dtype), cast("Any", ml_dtypes.finfo(element_type.dtype))
    if name == "f8e8m0fnu":
        return (
            "// A power of two, no sign: the nearest one, the larger of two that are as near, or\n"
            "// lie at the lower end. What is no positive number is NaN, 0 among it.\n"
            "static inline f8e8m0fnu store_f8e8m0fnu(f32 x) {\n"
            "  u32 bits = bits_f32(x);\n"
            "  u32 code = bits < 0x800000 ? bits > 0x400000 : (bits + 0x400000) >> 23;\n"
            "  return (f8e8m0fnu)(bits << 1 == 0 || bits >= 0x7f800000 ? 255 : code);\n}\n"
        )
    sign = 1 << (form.bits - 1)
    bias = 1 - round(math.log2(float(info.smallest_normal)))
    largest, overflow = _code(element_type, float(info.max)), _code(element_type, 1e30)
    nan = _code(element_type, np.nan)
    format_ = f"{form.exponent_bits}, {form.mantissa_bits}, {bias}"
    call = f"small_float(x, {format_}, {largest}, {overflow}, {nan})"
    if _code(element_type, -0.0) == 0:
        # One zero: the sign of nothing, where NaN stands instead.
        signed = f"code == 0 || code == {nan} ? code : code | sign"
    elif nan == sign:
        # No NaN at all: XLA turns it into -0.
        signed = f"x != x ? {nan} : code | sign"
    else:
        signed = "code | sign"
    return (
        f"static inline {name} store_{name}(f32 x) {{\n"
        f"  u32 sign = bits_f32(x) >> 31 ? {sign} : 0;\n"
        f"  u32 code = {call};\n"
        f"  return ({name})({signed});\n}}\n"
    )
