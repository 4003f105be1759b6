"""The 36 element types of XLA, and the NumPy types that hold their values.

NumPy has 14 of them; `ml_dtypes` has the small floats and the small integers, one value a byte.
Tuples, tokens, opaque values and buffers are element types too in XLA (a shape has exactly one),
but have no values that NumPy could hold.

Source: `PrimitiveType` in openxla/xla, `xla/xla_data.proto`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

Kind = Literal["pred", "signed", "unsigned", "float", "complex", "none"]


@dataclass(frozen=True, slots=True, eq=False)
class ElementType:
    """The type of the elements of an array.

    Compared by identity: there is one object a type, in `ELEMENT_TYPES`.

    Attributes
    ----------
    name : as HLO text spells it, such as "bf16".
    kind : how its values behave in arithmetic; "none" for types without values.
    bits : width of a value as XLA stores it; 4 for s4, though NumPy spends a byte on it.
    dtype : the NumPy type of its arrays; `object` for types without values.
    """

    name: str
    kind: Kind
    bits: int
    dtype: np.dtype[Any]

    def __reduce__(self) -> tuple[Callable[[str], ElementType], tuple[str]]:
        """The name, for pickle and copies."""
        return _named, (self.name,)

    @property
    def is_integer(self) -> bool:
        """Whether values are whole numbers that wrap around; pred is not among them."""
        return self.kind in ("signed", "unsigned")

    @property
    def is_floating(self) -> bool:
        """Whether values are real floating-point numbers."""
        return self.kind == "float"

    @property
    def is_complex(self) -> bool:
        """Whether values are pairs of floating-point numbers."""
        return self.kind == "complex"

    @property
    def is_array(self) -> bool:
        """Whether arrays of this type exist."""
        return self.kind != "none"

    @property
    def bytes(self) -> int:
        """Bytes that a value takes unpacked: 1 for s4."""
        return -(-self.bits // 8)

    @property
    def real(self) -> ElementType:
        """The type of the parts of a complex number; the type itself if it is not complex."""
        return {"c64": F32, "c128": F64}.get(self.name, self)

    @property
    def signed(self) -> ElementType:
        """The integers of as many bits with a sign; the type itself if it has no integers."""
        return _INTEGERS.get(("signed", self.bits), self) if self.is_integer else self

    @property
    def unsigned(self) -> ElementType:
        """The integers of as many bits without a sign; the type itself if it has no integers."""
        return _INTEGERS.get(("unsigned", self.bits), self) if self.is_integer else self

    def __repr__(self) -> str:
        """The name, as in HLO text."""
        return self.name


def _type(name: str, kind: Kind, bits: int, dtype: Any = object) -> ElementType:
    return ElementType(name, kind, bits, np.dtype(dtype))


# fmt: off
PRED = _type("pred", "pred",      8, np.bool_)
S1   = _type("s1",   "signed",    1, ml_dtypes.int1)
S2   = _type("s2",   "signed",    2, ml_dtypes.int2)
S4   = _type("s4",   "signed",    4, ml_dtypes.int4)
S8   = _type("s8",   "signed",    8, np.int8)
S16  = _type("s16",  "signed",   16, np.int16)
S32  = _type("s32",  "signed",   32, np.int32)
S64  = _type("s64",  "signed",   64, np.int64)
U1   = _type("u1",   "unsigned",  1, ml_dtypes.uint1)
U2   = _type("u2",   "unsigned",  2, ml_dtypes.uint2)
U4   = _type("u4",   "unsigned",  4, ml_dtypes.uint4)
U8   = _type("u8",   "unsigned",  8, np.uint8)
U16  = _type("u16",  "unsigned", 16, np.uint16)
U32  = _type("u32",  "unsigned", 32, np.uint32)
U64  = _type("u64",  "unsigned", 64, np.uint64)
F16  = _type("f16",  "float",    16, np.float16)
BF16 = _type("bf16", "float",    16, ml_dtypes.bfloat16)
F32  = _type("f32",  "float",    32, np.float32)
F64  = _type("f64",  "float",    64, np.float64)
C64  = _type("c64",  "complex",  64, np.complex64)
C128 = _type("c128", "complex", 128, np.complex128)
F8E5M2        = _type("f8e5m2",        "float", 8, ml_dtypes.float8_e5m2)
F8E4M3        = _type("f8e4m3",        "float", 8, ml_dtypes.float8_e4m3)
F8E4M3FN      = _type("f8e4m3fn",      "float", 8, ml_dtypes.float8_e4m3fn)
F8E4M3B11FNUZ = _type("f8e4m3b11fnuz", "float", 8, ml_dtypes.float8_e4m3b11fnuz)
F8E5M2FNUZ    = _type("f8e5m2fnuz",    "float", 8, ml_dtypes.float8_e5m2fnuz)
F8E4M3FNUZ    = _type("f8e4m3fnuz",    "float", 8, ml_dtypes.float8_e4m3fnuz)
F8E3M4        = _type("f8e3m4",        "float", 8, ml_dtypes.float8_e3m4)
F8E8M0FNU     = _type("f8e8m0fnu",     "float", 8, ml_dtypes.float8_e8m0fnu)
F4E2M1FN      = _type("f4e2m1fn",      "float", 4, ml_dtypes.float4_e2m1fn)
# XLA stores the 6-bit floats unpacked, a byte a value.
F6E2M3FN      = _type("f6e2m3fn",      "float", 8, ml_dtypes.float6_e2m3fn)
F6E3M2FN      = _type("f6e3m2fn",      "float", 8, ml_dtypes.float6_e3m2fn)
TUPLE  = _type("tuple",       "none", 0)
TOKEN  = _type("token",       "none", 0)
OPAQUE = _type("opaque_type", "none", 0)
BUFFER = _type("buffer",      "none", 0)
# fmt: on

ELEMENT_TYPES: dict[str, ElementType] = {
    type_.name: type_ for type_ in list(globals().values()) if isinstance(type_, ElementType)
}
ARRAY_TYPES: tuple[ElementType, ...] = tuple(t for t in ELEMENT_TYPES.values() if t.is_array)
_BY_DTYPE = {type_.dtype: type_ for type_ in ARRAY_TYPES}


def _named(name: str) -> ElementType:
    return ELEMENT_TYPES[name]


def element_type_of(dtype: np.dtype[Any]) -> ElementType | None:
    """The element type whose values a NumPy type holds; None if XLA has no such type."""
    return _BY_DTYPE.get(dtype)


def element_type_called(name: str) -> ElementType | None:
    """The element type that other languages call so: `int32` in NumPy, `i32` or `ui8` in MLIR."""
    return _ELSEWHERE.get(name)


_INTEGERS = {(type_.kind, type_.bits): type_ for type_ in ARRAY_TYPES if type_.is_integer}
_ELSEWHERE = {
    **{type_.dtype.name: type_ for type_ in ARRAY_TYPES},
    **{f"{'' if kind == 'signed' else 'u'}i{bits}": t for (kind, bits), t in _INTEGERS.items()},
    "i1": PRED,
    "int": S32,  # of C
    "half": F16,
    "float": F32,
    "double": F64,
}
