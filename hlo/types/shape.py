"""Shapes: the element type, dimensions and memory layout of an instruction's value.

A shape is an element type with dimensions and a layout, or a tuple of shapes. The layout says in
which order the dimensions vary in memory (`{1,0}`: dimension 1 fastest, so row-major), and carries
what accelerators add to that: tiles, element bits, memory spaces. A layout never changes what an
instruction means, only where its elements lie; most comparisons therefore ignore it.

Sources: XLA's "Shapes and Layout" and "Tiled layout" pages; `xla/shape.h`, `xla/layout.h`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from math import prod

from hlo.types.element_type import BUFFER, OPAQUE, TOKEN, TUPLE, ElementType

# The size of a dimension whose extent has no bound: `?` in text.
UNBOUNDED = -1


@dataclass(frozen=True, slots=True)
class Layout:
    """The order of an array's elements in memory.

    Attributes
    ----------
    minor_to_major : dimension numbers, the fastest-varying first.
    tiles : sizes of each tile, outermost tiling first; -1 is `*`, a combined dimension.
    tail_padding : L(n): elements to which the buffer's size is rounded up.
    index_type, pointer_type : #(u32), *(u32): types that sparse layouts use.
    element_bits : E(n): bits of an element where it is packed; 0 is the type's own width.
    memory_space : S(n): 0 is the default memory.
    splits : SC(d:i,j): indices at which a dimension is split between memories.
    dynamic_metadata_bytes : M(n): bytes of run-time sizes kept in front of the data.
    """

    minor_to_major: tuple[int, ...]
    tiles: tuple[tuple[int, ...], ...] = ()
    tail_padding: int = 1
    index_type: str = ""
    pointer_type: str = ""
    element_bits: int = 0
    memory_space: int = 0
    splits: tuple[tuple[int, tuple[int, ...]], ...] = ()
    dynamic_metadata_bytes: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether only the order of dimensions is given."""
        return self == Layout(self.minor_to_major)

    def __str__(self) -> str:
        """As HLO text spells it: `{1,0:T(8,128)S(1)}`."""
        order = ",".join(map(str, self.minor_to_major))
        if self.is_plain:
            return f"{{{order}}}"
        tiles = "".join(
            "(" + ",".join("*" if n == -1 else str(n) for n in tile) + ")" for tile in self.tiles
        )
        parts = [
            "T" + tiles if tiles else "",
            f"L({self.tail_padding})" if self.tail_padding != 1 else "",
            f"#({self.index_type})" if self.index_type else "",
            f"*({self.pointer_type})" if self.pointer_type else "",
            f"E({self.element_bits})" if self.element_bits else "",
            f"S({self.memory_space})" if self.memory_space else "",
            "SC" + "".join(f"({d}:{','.join(map(str, at))})" for d, at in self.splits)
            if self.splits
            else "",
            f"M({self.dynamic_metadata_bytes})" if self.dynamic_metadata_bytes else "",
        ]
        return f"{{{order}:{''.join(parts)}}}"


@cache
def row_major(rank: int) -> Layout:
    """The default layout: the last dimension varies fastest."""
    return Layout(tuple(range(rank - 1, -1, -1)))


@dataclass(frozen=True)
class Shape:
    """The type of an instruction's value.

    Attributes
    ----------
    element_type : TUPLE, TOKEN, OPAQUE and BUFFER among them.
    dims : sizes; the bound where a dimension is dynamic; UNBOUNDED where it has none.
    layout : None for what is not an array; a parsed array shape always has one.
    dynamic : which dimensions have a run-time size; () stands for none.
    elements : of a tuple; the one wrapped shape of a buffer.
    """

    element_type: ElementType
    dims: tuple[int, ...] = ()
    layout: Layout | None = None
    dynamic: tuple[bool, ...] = ()
    elements: tuple[Shape, ...] = ()

    # Passes ask these of every instruction, again and again.
    @cached_property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @cached_property
    def is_array(self) -> bool:
        """Whether the value is one array."""
        return self.element_type.kind != "none"

    @cached_property
    def is_tuple(self) -> bool:
        """Whether the value is a tuple."""
        return self.element_type is TUPLE

    @property
    def is_buffer(self) -> bool:
        """Whether the value is a buffer: an array that is written in place."""
        return self.element_type is BUFFER

    @property
    def is_token(self) -> bool:
        """Whether the value is a token."""
        return self.element_type is TOKEN

    @cached_property
    def is_dynamic(self) -> bool:
        """Whether any dimension, of any element of a tuple too, has a run-time size."""
        return any(self.dynamic) or any(e.is_dynamic for e in self.elements)

    @cached_property
    def size(self) -> int:
        """The number of elements of an array (at most, if dynamic); 0 of anything else."""
        return prod(self.dims) if self.is_array else 0

    @cached_property
    def bytes(self) -> int:
        """Bytes of all elements; of a tuple, those of its arrays; s4 takes half a byte."""
        if self.elements:
            return sum(e.bytes for e in self.elements)
        bits = (self.layout.element_bits if self.layout else 0) or self.element_type.bits
        return -(-self.size * bits // 8)

    @cached_property
    def unpacked_bytes(self) -> int:
        """Bytes where no two elements share one, as in NumPy and in C; s4 takes one."""
        return sum(s.size * s.element_type.bytes for _, s in self.leaves() if s.is_array)

    @cached_property
    def leaf_count(self) -> int:
        """The number of shapes in it that are not tuples: 1, unless it is a tuple itself."""
        return sum(e.leaf_count for e in self.elements) if self.is_tuple else 1

    @property
    def first_leaf(self) -> Shape:
        """The shape itself, or the first leaf of a tuple; of an empty tuple, the tuple."""
        if self.element_type is not TUPLE:
            return self
        return next((shape for _, shape in self.leaves()), self)

    @cached_property
    def depth(self) -> int:
        """The nesting depth of its tuples: 0 for a shape that holds no other."""
        return 1 + max((e.depth for e in self.elements), default=0) if self.elements else 0

    def dynamic_at(self, dim: int) -> bool:
        """Whether a dimension has a run-time size."""
        return bool(self.dynamic) and self.dynamic[dim]

    @cached_property
    def memory_order(self) -> tuple[int, ...]:
        """The dimensions of an array, the slowest-varying first."""
        return self.layout.minor_to_major[::-1] if self.layout else tuple(range(self.rank))

    @cached_property
    def is_row_major(self) -> bool:
        """Whether no array in it has its dimensions in another order than memory."""
        if self.is_tuple:
            return all(element.is_row_major for element in self.elements)
        return self.memory_order == tuple(range(self.rank))

    @cached_property
    def without_layout(self) -> Shape:
        """The same shape with no layout at any depth: equal exactly if the types agree."""
        elements = tuple(e.without_layout for e in self.elements)
        return Shape(self.element_type, self.dims, None, self.dynamic, elements)

    def compatible(self, other: Shape) -> bool:
        """Whether both have the same type and dimensions, whatever their layouts."""
        if self.elements or other.elements:
            return self is other or self.without_layout == other.without_layout
        return (
            self.dims == other.dims
            and self.element_type == other.element_type
            and self.dynamic == other.dynamic
        )

    def with_layout(self, layout: Layout | None) -> Shape:
        """The same array in another memory order."""
        return Shape(self.element_type, self.dims, layout, self.dynamic, self.elements)

    def with_default_layout(self) -> Shape:
        """The same shape, row-major at every depth."""
        return self._in_default_layout

    @cached_property
    def _in_default_layout(self) -> Shape:
        if self.is_array and not self.dynamic:
            return array(self.element_type, self.dims)
        if self.is_array:
            return self.with_layout(row_major(self.rank))
        return replace(self, elements=tuple(e.with_default_layout() for e in self.elements))

    def with_dims(self, dims: tuple[int, ...], dynamic: tuple[bool, ...] = ()) -> Shape:
        """An array of the same element type with other dimensions, row-major."""
        return array(self.element_type, dims, dynamic)

    def with_type(self, element_type: ElementType) -> Shape:
        """The same dimensions, in the same order, with another element type."""
        layout = row_major(self.rank) if self.layout is None else self.layout
        if layout.element_bits:
            layout = replace(layout, element_bits=0)
        return Shape(element_type, self.dims, layout, self.dynamic, self.elements)

    def leaves(self) -> tuple[tuple[tuple[int, ...], Shape], ...]:
        """Every shape in a tuple that is not itself a tuple, with its index, in order."""
        return self._tuple_leaves if self.element_type is TUPLE else (((), self),)

    @cached_property
    def _tuple_leaves(self) -> tuple[tuple[tuple[int, ...], Shape], ...]:
        leaves: list[tuple[tuple[int, ...], Shape]] = []
        stack: list[tuple[tuple[int, ...], Shape]] = [((), self)]
        while stack:
            index, shape = stack.pop()
            if shape.is_tuple:
                stack += [((*index, i), e) for i, e in enumerate(shape.elements)][::-1]
            else:
                leaves.append((index, shape))
        return tuple(leaves)

    def at(self, index: tuple[int, ...]) -> Shape:
        """The shape at an index into nested tuples; the shape itself at ()."""
        shape = self
        for i in index:
            shape = shape.elements[i]
        return shape

    @cached_property
    def text(self) -> str:
        """The shape as HLO text spells it, with layouts."""
        return self._spell(layouts=True)

    @cached_property
    def text_without_layout(self) -> str:
        """The shape as HLO text spells it, without layouts."""
        return self._spell(layouts=False)

    def __str__(self) -> str:
        """The shape as HLO text spells it, with layouts."""
        return self.text

    def __repr__(self) -> str:
        """The text in angle brackets."""
        return f"<shape {self.text}>"

    def _spell(self, *, layouts: bool) -> str:
        # XLA counts the elements of long tuples for the reader: /*index=5*/ before every fifth.
        inner = [e.text if layouts else e.text_without_layout for e in self.elements]
        if self.is_tuple:
            marked = (f"/*index={i}*/{t}" if i and i % 5 == 0 else t for i, t in enumerate(inner))
            return "(" + ", ".join(marked) + ")"
        if self.is_buffer:
            return f"b({inner[0]})"
        if self.element_type is OPAQUE:
            return "opaque[]"
        sizes = [
            "?" if n == UNBOUNDED else f"<={n}" if self.dynamic_at(i) else str(n)
            for i, n in enumerate(self.dims)
        ]
        layout = str(self.layout) if layouts and self.layout else ""
        return f"{self.element_type.name}[{','.join(sizes)}]" + ("" if layout == "{}" else layout)


def array(
    element_type: ElementType, dims: tuple[int, ...] = (), dynamic: tuple[bool, ...] = ()
) -> Shape:
    """The shape of an array in the default layout."""
    return _array(element_type, tuple(map(int, dims)), dynamic if any(dynamic) else ())


# A model has few shapes, and so each question about one is answered once for all who have it.
@lru_cache(maxsize=1 << 12)
def _array(element_type: ElementType, dims: tuple[int, ...], dynamic: tuple[bool, ...]) -> Shape:
    return Shape(element_type, dims, row_major(len(dims)), dynamic)


def tuple_of(*elements: Shape) -> Shape:
    """The shape of a tuple."""
    return Shape(TUPLE, elements=elements)


def buffer_of(element: Shape) -> Shape:
    """The shape of a buffer: an array that is written in place."""
    return Shape(BUFFER, elements=(element,))


TOKEN_SHAPE = Shape(TOKEN)
OPAQUE_SHAPE = Shape(OPAQUE)
