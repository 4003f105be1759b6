"""The functions that convert narrow element types, made from NumPy's own tables of their values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from codegen.floats import float_text
from codegen.kinds import is_narrow, wide
from hlo.types.element_type import ELEMENT_TYPES
from interpreter.numbers.widths import float_format

if TYPE_CHECKING:
    from hlo.types.element_type import ElementType

OTHERS = tuple(
    t.name for t in ELEMENT_TYPES.values() if t.is_array and is_narrow(t)
)  # stored as their bytes


def conversions(element_type: ElementType, *, as_bits: bool = False) -> str:
    """The C functions that load, store and narrow a type, but for bf16 and f16, whose are written.

    The 8-bit floats and smaller ones are loaded from a table of all their values, or of the bits of
    these.
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
    values = _values_as_bits(element_type) if as_bits else _values(element_type)
    return f"{values}\n{_encode(element_type)}\n{_narrow(name, 'f32')}"


def _narrow(name: str, kind: str) -> str:
    body = f"  return load_{name}(store_{name}(x));\n"
    return f"static inline {kind} narrow_{name}({kind} x) {{\n{body}}}\n"


def _values(element_type: ElementType) -> str:
    """A table of all values, by their codes."""
    width = float_format(element_type.dtype).bits
    codes = np.arange(2**width, dtype=np.uint8).view(element_type.dtype)
    rows = [float_text(float(value), "f") for value in codes]
    lines = [", ".join(rows[i : i + 8]) for i in range(0, len(rows), 8)]
    table = ",\n  ".join(lines)
    name = element_type.name
    return (
        f"static const f32 values_{name}[{len(rows)}] = {{\n  {table}}};\n\n"
        f"static inline f32 load_{name}({name} x) {{\n"
        f"  return values_{name}[x & {len(rows) - 1}];\n}}\n"
    )


def _values_as_bits(element_type: ElementType) -> str:
    """The same table in a language without literals of infinity and NaN."""
    width = float_format(element_type.dtype).bits
    codes = np.arange(2**width, dtype=np.uint8).view(element_type.dtype)
    rows = [f"0x{bits:08x}u" for bits in codes.astype(np.float32).view(np.uint32).tolist()]
    lines = [", ".join(rows[i : i + 8]) for i in range(0, len(rows), 8)]
    table = ",\n  ".join(lines)
    name = element_type.name
    return (
        f"static const u32 values_{name}[{len(rows)}] = {{\n  {table}}};\n\n"
        f"static inline f32 load_{name}({name} x) {{\n"
        f"  return from_bits_f32(values_{name}[x & {len(rows) - 1}]);\n}}\n"
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
        # One zero: the sign of nothing, where NaN is instead.
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
