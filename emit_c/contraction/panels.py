"""Packs the kernel of a contraction: panels of it are copied in the order in which tiles read them.

Each panel has blocks of numbers that lie side by side, one for each step of the contraction. They
are copied row by row where such numbers lie side by side in memory too; where those of the steps
do, a block is read as columns and transposed.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from codegen.callees import BUILTINS
from codegen.expressions import Choose, Expr, Group, Literal, Name, binary, indexed, item
from codegen.opcodes.folding import over
from codegen.walk import address_of
from emit_c.contraction.copying import column_of, row_of
from emit_c.contraction.cutting import Cutting
from optimizer.analysis.indexing import Sum, counter, linear, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.body import Body
    from emit_c.contraction.copying import Column
    from emit_c.contraction.cutting import KernelPart
    from emit_c.contraction.dims import Dim
    from optimizer.analysis.indexing import Index

    Numbers = Callable[[Sum, Index], Expr]  # of the kernel, for a feature and a contracted index


class Packing(Cutting):
    """The loops that copy a kernel into panels."""

    def pack(
        self,
        body: Body,
        packed: Expr | None,
        begin: Sum,
        part: KernelPart,
        kernel: Numbers,
    ) -> None:
        """Copy the kernel's numbers of a group of blocks.

        If the whole kernel is packed, for all steps of the contraction; else for those of a chunk.

        Parameters
        ----------
        begin : of the group in the packed kernel.
        """
        assert packed is not None
        first = self.steps[0].size if self.cached else self.chunk
        sizes = [first, *(s.size for s in self.steps[1:])]
        column = self._column(body, part, sizes, kernel)
        if column is not None:
            self._pack_columns(body, packed, begin, part, sizes, kernel, column)
            return
        with body.loops(["t" for _ in sizes] + ["block"], [*sizes, self.group]) as (*steps, block):
            number = begin + linear((block, *steps), (self.group, *sizes)) * self.side
            here = replace(part, block=part.block + block)
            self._pack_row(body, packed, number, here, tuple(steps), kernel)

    def _pack_row(
        self,
        body: Body,
        packed: Expr,
        number: Sum,
        part: KernelPart,
        steps: Index,
        kernel: Numbers,
    ) -> None:
        """Copy elements that lie side by side to a place in the packed kernel."""
        lane = name = body.name("j")
        first = self.first(body, part.block, self.packed, self.side)
        along: Sum = first + counter(lane, self.side)
        count: Expr = Literal(self.side)
        rest = not self._is_covered(self.packed, self.side)
        there = item(packed, number + counter(lane, self.side))
        with body.block() as statements, body.watched() as trace:
            if rest:
                # The last block has fewer; its index must not seem to go beyond them.
                name = body.let("s64", "along", indexed(along)).name
                along = unknown(name, 0, self.packed.size - 1)
                count = smaller(part.block * -self.side + self.packed.size, self.side)
            body.assign(there, kernel(*self._of_kernel(part, along, steps)))
        row = row_of(statements, trace, self.kind, name)
        if row and row.step == 1:
            begin = row.first + first if rest else row.first
            row.copy(body, address_of(packed, number), begin, count, self.kind.bytes)
        else:
            body.add(over(lane, count if rest else self.side, statements))
        if rest:
            # Whatever is in lanes without outputs is multiplied, and that must not be slow, as it
            # is with numbers near 0.
            size = (Literal(self.side) - count) * self.kind.bytes
            body.call(BUILTINS["memset"], address_of(packed, number) + count, 0, size)

    def _of_kernel(self, part: KernelPart, along: Sum, steps: Index) -> tuple[Sum, Index]:
        """The feature and the contraction's index of elements that are packed side by side."""
        feature = along * self.packed.feature
        for here, d in zip(part.panel, self.panels, strict=True):
            feature = feature + here * d.feature
        return feature, (steps[0] + part.chunk * self.chunk, *steps[1:])

    def _column(
        self,
        body: Body,
        part: KernelPart,
        sizes: Sequence[int],
        kernel: Numbers,
    ) -> Column | None:
        """The access to the kernel whose last contracted dimension is innermost there."""
        steps = [counter(body.name("t"), size) for size in sizes]
        along = unknown(body.name("j"), 0, self.packed.size - 1)
        with body.block() as statements, body.watched() as trace:
            body.assign(Name("packed"), kernel(*self._of_kernel(part, along, tuple(steps))))
        return column_of(statements, trace, self.kind, along, list(zip(steps, sizes, strict=True)))

    def _pack_columns(
        self,
        body: Body,
        packed: Expr,
        begin: Sum,
        part: KernelPart,
        sizes: Sequence[int],
        kernel: Numbers,
        column: Column,
    ) -> None:
        """Copy block after block, and transpose each."""
        outer, inner = sizes[: -column.loops], sizes[-column.loops :]
        depth = prod(inner)
        rest = not self._is_covered(self.packed, self.side)
        with body.loops(["block"], [self.group]) as (block,):
            here = replace(part, block=part.block + block)
            first = self.first(body, here.block, self.packed, self.side)
            count: Expr = Literal(self.side)
            if rest:
                count = smaller(here.block * -self.side + self.packed.size, self.side)
            with body.loops(["t" for _ in outer], outer) as steps:
                number = begin + linear((block, *steps), (self.group, *outer)) * (depth * self.side)
                with body.block(), body.watched() as trace:
                    kernel(*self._of_kernel(here, first, (*steps, *(Sum(0) for _ in inner))))
                into = address_of(packed, number)
                if rest:
                    size = depth * self.side * self.kind.bytes
                    body.call(BUILTINS["memset"], into, 0, size)
                column.transpose(body, into, trace.loads[0], (depth, count, self.side))

    def first(self, body: Body, number: Sum, dim: Dim, side: int) -> Sum:
        """The first index of a tile in a dimension, by its number."""
        last = dim.size - side
        if (number * side).high <= last or not self._is_covered(dim, side):
            return number * side
        if not number.terms:
            return Sum(last)
        return unknown(body.let("s64", "first", smaller(number * side, last)).name, 0, last)


def smaller(value: Sum, bound: int) -> Expr:
    """The smaller of a number and its bound."""
    if value.low >= bound:
        return Literal(bound)
    if value.high <= bound:
        return indexed(value)
    number = indexed(value)
    return Group(Choose(binary("<", number, bound), number, Literal(bound)))
