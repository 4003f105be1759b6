"""Stores of register tiles at the edges of an output, and of sums that are added to it.

Tiles inside an output store whole vectors. For the others a function is shared by all tiles of one
width, since the cases of a last vector would be half of what a compiler reads in each tile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emit_c.code.vectors import vector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.types.element_type import ElementType


def storing_name(vectors: int, lanes: int, kind: ElementType) -> str:
    """The C function that stores rows of so many vectors."""
    return f"hlo_store_{vectors}x{lanes}_{kind}"


def storing(vectors: int, lanes: int, kind: ElementType) -> str:
    """The C function that stores the first `count` sums of each row, or adds them to the output."""
    wide = vector(kind, lanes)
    lines = [
        f"// Of each row of {vectors * lanes} sums, the first `count` are stored or added.",
        "__attribute__((noinline)) static void",
        f"{storing_name(vectors, lanes, kind)}(const {kind} *sums, s64 rows, {kind} *to,",
        "    s64 output_row, s64 count, int adds) {",
        f"  for (s64 i = 0; i < rows; i++, sums += {vectors * lanes}, to += output_row) {{",
        "    s64 j = 0;",
        f"    for (; j + {lanes} <= count; j += {lanes}) {{",
        f"      const {wide} sum = *(const {wide} *)(sums + j);",
        f"      {wide} *there = ({wide} *)(to + j);",
        "      *there = adds ? *there + sum : sum;",
        "    }",
        "    for (; adds && j < count; j++) to[j] += sums[j];",
        *_parts(lanes, kind),
        "  }",
        "}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _parts(lanes: int, kind: ElementType) -> Iterator[str]:
    """Store the lanes that fill no vector: a half of one, a quarter, and so on.

    Each is a part of one vector that was stored just now, or it would have to wait for that.
    """
    part = lanes // 2
    while part:
        move = f" j += {part};" * (part > 1)
        copy = f"__builtin_memcpy(to + j, sums + j, {part * kind.bytes});"
        yield f"    if (j < count && count & {part}) {{ {copy}{move} }}"
        part //= 2
