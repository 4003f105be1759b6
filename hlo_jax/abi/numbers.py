"""The enumerations of PJRT: element types, error codes, extensions."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from hlo.types.element_type import ELEMENT_TYPES, ElementType

# The version that PyHLO says it has. A caller asks a plugin only for what its version has, so a
# plugin that says less has less to answer: from minor version 105 on a PJRT_Memory must begin with
# a table of functions, from 107 on a PJRT_Error.
MAJOR, MINOR = 0, 97

# PJRT_Buffer_Type. The place in the list is the number; newer types are at the end.
_TYPES: Final = (
    *("invalid", "pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"),
    *("f16", "f32", "f64", "bf16", "c64", "c128"),
    *("f8e5m2", "f8e4m3fn", "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz"),
    *("s4", "u4", "token", "s2", "u2", "f8e4m3", "f8e3m4", "f8e8m0fnu", "f4e2m1fn"),
    *("s1", "u1", "f6e2m3fn", "f6e3m2fn"),
)
TYPE_NUMBERS: dict[ElementType, int] = {
    ELEMENT_TYPES[name]: number for number, name in enumerate(_TYPES) if name in ELEMENT_TYPES
}
TYPES: dict[int, ElementType] = {number: type_ for type_, number in TYPE_NUMBERS.items()}


class ErrorCode(IntEnum):
    """PJRT_Error_Code: those of absl::Status."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class Extension(IntEnum):
    """PJRT_Extension_Type: those that PyHLO has."""

    LAYOUTS = 4


class NamedValueType(IntEnum):
    """PJRT_NamedValue_Type: which member of the union holds a value."""

    STRING = 0
    INT64 = 1
    INT64_LIST = 2
    FLOAT = 3
    BOOL = 4


# PJRT_Buffer_MemoryLayout_Type.
TILED, STRIDES = 0, 1
