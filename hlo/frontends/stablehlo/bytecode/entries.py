"""Attributes and types in bytecode, as the reader of text gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import Source
from hlo.frontends.stablehlo import numbers, types
from hlo.frontends.stablehlo.items import Integer, Real
from hlo.frontends.stablehlo.operation import Tagged
from hlo.frontends.stablehlo.read import read_alias
from hlo.read.nesting import MAX_NESTING
from hlo.types.element_type import PRED
from hlo.types.shape import Shape, tuple_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hlo.frontends.stablehlo.bytecode.container import Container, Entry
    from hlo.frontends.stablehlo.bytecode.cursor import Cursor
    from hlo.types.element_type import ElementType
    from hlo.types.sharding import Mesh

    Read = Callable[["Entries", Cursor], Any]
    Readers = Mapping[tuple[str, bool], Mapping[int, Read]]

UNKNOWN = -(1 << 63)  # a size that only a run tells
_SPLAT = b"\xff"
_WIDEST = 64  # bits of an integer in an attribute


class Entries:
    """Reads attributes and types by their numbers; each is read once, when it is needed.

    Parameters
    ----------
    readers : of the types and attributes of each dialect, by their codes.

    Attributes
    ----------
    meshes : those that shardings have in place, by names made for them.
    """

    def __init__(self, container: Container, readers: Readers) -> None:
        self._container, self._readers = container, readers
        self._made: dict[tuple[bool, int], Any] = {}
        self._depth = 0
        self.meshes: dict[str, Mesh] = {}

    def attribute(self, at: Cursor) -> Any:
        """The attribute whose number comes next."""
        return self.numbered_attribute(at, at.number())

    def numbered_attribute(self, at: Cursor, number: int) -> Any:
        """The attribute with a number."""
        return self._entry(at, number, self._container.attributes, is_type=False)

    def optional_attribute(self, at: Cursor) -> Any:
        """The same, or None if there is none."""
        number, is_given = at.flagged()
        return self.numbered_attribute(at, number) if is_given else None

    def type(self, at: Cursor) -> Any:
        """The type whose number comes next: a shape, or the name of an element type."""
        return self.numbered_type(at, at.number())

    def numbered_type(self, at: Cursor, number: int) -> Any:
        """The type with a number."""
        return self._entry(at, number, self._container.types, is_type=True)

    def value_type(self, at: Cursor) -> Shape:
        """The type of a value whose number comes next."""
        return shape_of(self.type(at), at)

    def _entry(self, at: Cursor, number: int, entries: Sequence[Entry], *, is_type: bool) -> Any:
        key = (is_type, number)
        if key not in self._made:
            if number >= len(entries):
                raise at.broken(f"there is no entry {number} among {len(entries)}")
            if self._depth > MAX_NESTING:
                raise at.broken("attributes are nested too deep")
            self._depth += 1
            self._made[key] = self._read(entries[number], is_type=is_type)
            self._depth -= 1
        return self._made[key]

    def _read(self, entry: Entry, *, is_type: bool) -> Any:
        at = entry.at
        if entry.is_text:
            return self._of_text(at.text(), is_type=is_type)
        readers = self._readers.get((entry.dialect, is_type))
        if readers is None:
            # Whoever needs it says what is missing.
            return Tagged(f"{entry.dialect}.unknown", (), {})
        code = at.number()
        if code not in readers:
            kind = "type" if is_type else "attribute"
            raise at.broken(f"there is no {kind} {code} of {entry.dialect} for a value")
        return readers[code](self, at)

    def _of_text(self, text: str, *, is_type: bool) -> Any:
        value, meshes = read_alias(Source(text), is_type=is_type)
        self.meshes.update(meshes)
        return value

    def string(self, at: Cursor) -> str:
        """The string whose number comes next."""
        return self._container.string(at)

    def tuple(self, at: Cursor) -> Shape:
        """A tuple's type."""
        return tuple_of(*(shape_of(self.type(at), at) for _ in range(at.count())))

    def bounded_tensor(self, at: Cursor) -> Shape:
        """An array's type after its bounds."""
        bounds = self.attribute(at)
        return self.tensor(
            at, bounds.fields.get("bounds", ()) if isinstance(bounds, Tagged) else ()
        )

    def tensor(self, at: Cursor, bounds: Sequence[Any] = ()) -> Shape:
        """An array's type."""
        sizes = at.signed_list()
        if any(size < 0 and size != UNKNOWN for size in sizes):
            raise at.broken("a size is negative")
        words = "".join("?x" if size == UNKNOWN else f"{size}x" for size in sizes)
        return types.tensor(words, str(self.type(at)), bounds)

    def attributes(self, at: Cursor) -> tuple[Any, ...]:
        """Attributes after their number."""
        return tuple(self.attribute(at) for _ in range(at.count()))

    def dictionary(self, at: Cursor) -> dict[str, Any]:
        """Attributes by name, after their number."""
        pairs = [(self.attribute(at), self.attribute(at)) for _ in range(at.count())]
        return {str(key): value for key, value in pairs}

    def _bits(self, at: Cursor, width: int) -> int:
        """The bits of a number: a byte, or an integer."""
        if width > _WIDEST:
            raise at.broken(f"a number of {width} bits is not read")
        return (at.byte() if width <= 8 else at.signed()) & (1 << width) - 1

    def integer(self, at: Cursor, kind: Any) -> Integer | bool:
        """An integer of a type; a truth value, if that is the type."""
        element_type = element_type_of(kind, at)
        bits = self._bits(at, element_type.bits)
        if element_type is PRED:
            return bool(bits)
        is_negative = element_type.kind == "signed" and bits >> element_type.bits - 1
        return Integer(bits - (1 << element_type.bits) if is_negative else bits, str(kind))

    def real(self, at: Cursor, kind: Any) -> Real:
        """A float of a type."""
        element_type = element_type_of(kind, at)
        if not element_type.is_floating:
            raise at.broken(f"a float is said to be of type {kind}")
        raw = self._bits(at, element_type.bits).to_bytes(element_type.dtype.itemsize, "little")
        return Real(float(np.frombuffer(raw, element_type.dtype)[0]), str(kind))

    def numbers(self, at: Cursor, shape: Shape) -> Any:
        """The array of a constant: all its numbers, or one for all."""
        if not shape.is_array:
            raise at.broken("a constant has no element type")
        raw, kind, size = at.blob(), shape.element_type, shape.size
        try:
            values = _truth_values(raw, size) if kind is PRED else numbers.of_bytes(raw, kind, size)
            return numbers.in_shape(values, shape)
        except (ValueError, TypeError):
            raise at.broken(f"a constant of {len(raw)} bytes is no {shape}") from None


def _truth_values(raw: bytes, size: int) -> Any:
    """Truth values: bits, or bytes as older writers had them; 255 alone is true for all."""
    if raw == _SPLAT or len(raw) == size:
        return np.frombuffer(raw, np.uint8) != 0
    bits = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")
    if len(raw) != -(-size // 8):
        raise ValueError("neither bits nor bytes")
    return bits[:size].astype(bool)


def element_type_of(kind: Any, at: Cursor) -> ElementType:
    """The element type that a type is."""
    if not isinstance(kind, str):
        raise at.broken("the type of a number is none")
    return numbers.element_type(kind)


def shape_of(kind: Any, at: Cursor) -> Shape:
    """The shape that a type is."""
    if not isinstance(kind, Shape):
        raise at.broken(f"a value is said to be of type {kind}")
    return kind
