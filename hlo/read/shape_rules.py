"""The rules of `hlo.lark` for shapes and layouts, and the objects that they build.

A method a rule. Each gets what its rule matched: tokens, results of inner rules, and None for
parts in brackets that were absent.
"""

from __future__ import annotations

from typing import Any

from lark import Token, Transformer

from hlo.errors.error import did_you_mean
from hlo.read.rule_tools import BadValue, integer, integers, present
from hlo.types.element_type import ELEMENT_TYPES, element_type_called
from hlo.types.shape import (
    OPAQUE_SHAPE,
    TOKEN_SHAPE,
    UNBOUNDED,
    Layout,
    Shape,
    buffer_of,
    row_major,
    tuple_of,
)
from hlo.types.values import ComputationLayout


class ShapeRules(Transformer[Token, Any]):
    """The rules for shapes and layouts."""

    def tuple_shape(self, items: Any) -> Any:
        """`(f32[], s32[])`."""
        return tuple_of(*present(items))

    def buffer_shape(self, items: Any) -> Any:
        """`b(f32[4])`."""
        return buffer_of(items[1])

    def array_shape(self, items: Any) -> Any:
        """`f32[2,<=3]{1,0}`, `token[]`, `opaque[]`."""
        name, *dims, layout = items
        if name == "token":
            return TOKEN_SHAPE
        if name == "opaque":
            return OPAQUE_SHAPE
        element_type = ELEMENT_TYPES.get(str(name))
        if element_type is None or not element_type.is_array:
            meant = element_type_called(str(name))
            near = did_you_mean(name, [*ELEMENT_TYPES, "token"])
            hint = f"did you mean `{meant}`?" if meant else "".join(near)
            raise BadValue(f"`{name}` is no element type" + (f": {hint}" if hint else ""), name)
        pairs = present(dims)
        sizes = tuple(size for size, _ in pairs)
        dynamic = tuple(is_dynamic for _, is_dynamic in pairs)
        if layout is None:
            layout = row_major(len(sizes))
        elif sorted(layout.minor_to_major) != list(range(len(sizes))):
            raise BadValue("the layout does not order the dimensions of the shape", name)
        return Shape(element_type, sizes, layout, dynamic if any(dynamic) else ())

    def static_dim(self, items: Any) -> Any:
        """`4`."""
        size = integer(items[0])
        if size < 0:
            raise BadValue("a dimension can't have a negative size", items[0])
        return size, False

    def bounded_dim(self, items: Any) -> Any:
        """`<=4`."""
        return self.static_dim(items)[0], True

    def unbounded_dim(self, _: Any) -> Any:
        """`?`."""
        return UNBOUNDED, True

    def layout(self, items: Any) -> Any:
        """`{1,0:T(8,128)S(1)}`."""
        order = [i for i in items if isinstance(i, Token)]
        parts: dict[str, Any] = {}
        for part in items:
            if isinstance(part, dict):
                parts |= part
        return Layout(integers(order), **parts)

    def dim_levels(self, _: Any) -> Any:
        """`D(D,C)`: sparse levels, which XLA reads and drops."""
        return {}

    def tiles(self, items: Any) -> Any:
        """`T(8,128)(2,1)`."""
        return {"tiles": tuple(present(items))}

    def tile(self, items: Any) -> Any:
        """`(8,128)`; -1 stands for `*`."""
        return tuple(-1 if t == "*" else integer(t) for t in present(items))

    def tail_padding(self, items: Any) -> Any:
        """`L(1024)`."""
        return {"tail_padding": integer(items[-1])}

    def index_type(self, items: Any) -> Any:
        """`#(u32)`."""
        return {"index_type": str(items[0])}

    def pointer_type(self, items: Any) -> Any:
        """`*(u32)`."""
        return {"pointer_type": str(items[-1])}

    def element_bits(self, items: Any) -> Any:
        """`E(4)`."""
        return {"element_bits": integer(items[-1])}

    def memory_space(self, items: Any) -> Any:
        """`S(5)`."""
        return {"memory_space": integer(items[-1])}

    def splits(self, items: Any) -> Any:
        """`SC(1:200,300)`."""
        return {"splits": tuple(present(items))}

    def split(self, items: Any) -> Any:
        """`(1:200,300)`."""
        return integer(items[0]), integers(items[1:])

    def metadata_bytes(self, items: Any) -> Any:
        """`M(8)`."""
        return {"dynamic_metadata_bytes": integer(items[-1])}

    def computation_layout(self, items: Any) -> Any:
        """`{(f32[2])->f32[2]}`."""
        return ComputationLayout(present(items[:-1]), items[-1])
