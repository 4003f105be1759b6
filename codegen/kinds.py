"""The types of variables, before a language spells them: see `codegen.printer.spelled`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlo.types.element_type import ElementType


@dataclass(frozen=True, slots=True)
class Record:
    """The type of several values with names, a `struct` of C."""

    name: str


@dataclass(frozen=True, slots=True)
class Array:
    """The type of several values of one type, of which a literal says how many there are."""

    of: str | Pointer


@dataclass(frozen=True, slots=True)
class Table:
    """The type of a local array of constants, which is there once for all calls of a function."""

    of: str


@dataclass(frozen=True, slots=True)
class Vector:
    """The type of several elements that are loaded or stored at once.

    Attributes
    ----------
    of : the type of an element.
    count : of elements.
    """

    of: str
    count: int

    @property
    def name(self) -> str:
        """Its name: of four f32, `f32x4`."""
        return f"{self.of}x{self.count}"


@dataclass(frozen=True, slots=True)
class Pointer:
    """The type of a pointer.

    Attributes
    ----------
    to : the type of the values that lie there.
    const : no value is written through it.
    restrict : a value that is written through it is read and written through no other pointer.
    """

    to: str | Vector | Record | Pointer
    const: bool = False
    restrict: bool = False


# The types with which C computes; values of others are widened when they are loaded.
_NATIVE = {
    *("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"),
    *("f32", "f64", "c64", "c128", "pred"),
}

# A number's type is its name: "f32", or one of the language's own, as "char".
Kind = str | Vector | Pointer | Record | Array | Table


def element_of(kind: Kind) -> Kind:
    """The element type of a pointer; any other type itself."""
    return kind.to if isinstance(kind, Pointer) else kind


def number_of(kind: Kind) -> str:
    """The name of the type of a number; empty for other types."""
    return kind if isinstance(kind, str) else ""


def base_of(kind: Kind) -> str:
    """The name of the type on which a type is built."""
    while not isinstance(kind, str):
        match kind:
            case Record() | Vector():
                kind = kind.name
            case Pointer(inner) | Array(inner) | Table(inner):
                kind = inner
    return kind


def is_const(kind: Kind) -> bool:
    """Whether a type is that of a pointer through which nothing is written."""
    return isinstance(kind, Pointer) and kind.const


def unrestricted(kind: Kind) -> Kind:
    """A type without `restrict`: other pointers may lead to the same memory."""
    if isinstance(kind, Pointer) and kind.restrict:
        return replace(kind, restrict=False)
    return kind


def wide(element_type: ElementType) -> str:
    """The C type in which values of an element type are computed."""
    if element_type.name in _NATIVE:
        return element_type.name
    return "f32" if element_type.is_floating else "s8" if element_type.kind == "signed" else "u8"


def is_narrow(element_type: ElementType) -> bool:
    """Whether values are widened when loaded."""
    return element_type.name not in _NATIVE
