"""A dot product as tiles see it: one operand is their input, the other one their kernel."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

from codegen.callees import BUILTINS
from codegen.expressions import Cast, Choose, Expr, Group, Name, Op, binary, indexed, item
from codegen.kinds import Pointer
from codegen.opcodes.folding import over
from codegen.opcodes.operands import operands_of
from codegen.opcodes.products import element_as
from emit_c.code import processor
from emit_c.contraction.copying import write_row
from emit_c.contraction.dims import ContractedDim, Dim, joined
from emit_c.contraction.packing import constant_numbers, packed_constant
from emit_c.contraction.tiles import READ_BEHIND
from emit_c.contraction.tiling import Tiling
from hlo.support import machine
from optimizer.analysis.indexing import Sum, counter, delinear, strides

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from optimizer.analysis.indexing import Index

PACKED_ONE_BY_ONE = 3
"""Measured: products that take as long as to pack a number that lies apart from its neighbours."""
OFTEN = 256
"""Chosen: features for which each row of a product is read, from which on its rows are copied if
they lie a whole way of the first cache apart. A tile reads 14 rows at once. Where the cache has 8
ways, as in an EPYC of the fourth generation, products of 1024 cubed take 1.24 times as long without
a copy, BERT 1.03; where it has 12, as in a Xeon of that time, 14 products take 0.98 of the time."""


class TiledProduct:
    """A dot product with one operand as the input of tiles and the other one as the kernel.

    One of complex numbers is one of real numbers: parts are one more dimension, innermost, of the
    contraction and of the result. For them the kernel has the numbers

                                  real part of the result   imaginary part
        real part of the input              re                    im
        imaginary part                     -im                    re

    Parameters
    ----------
    exact : as of `Tiling`.
    swapped : whether the input is the right operand.

    Attributes
    ----------
    order : of the input's dimensions in memory.
    copied : whether the input must be copied: to another type, or so that tiles may read after
        its last element, or so that its rows do not push each other out of the first cache.
    """

    def __init__(
        self,
        body: Body,
        instr: Instruction,
        kind: ElementType,
        exact: int | None,
        *,
        swapped: bool,
    ) -> None:
        self.body, self.element, self.exact = body, kind, exact
        self.parts, self.kind = (2, kind.real) if kind.is_complex else (1, kind)
        left, right = operands_of(instr)
        self.input, self.kernel = (right, left) if swapped else (left, right)
        out, batch = strides(instr.shape.dims), len(left.batch)
        free = out[batch : batch + len(left.free)], out[batch + len(left.free) :]
        self.batch_out = out[:batch]
        self.free_out, self.features_out = reversed(free) if swapped else free
        self.order, self.padding, self.copied = tuple(range(self.input.instr.shape.rank)), 0, False
        self._plan()

    def _plan(self) -> None:
        """Decide how the output is cut, and whether the input must be copied."""
        body = self.body
        self.tiling = self._tiling()
        there = isinstance(body.pointers_of(self.input.instr), Name)
        own = self.input.instr.shape.element_type is self.element
        apart = (self.tiling.row.input, *(s.input for s in self.tiling.steps))
        way = processor.here().caches.way
        aliased = any(step * self.kind.bytes % way == 0 for step in apart if step)
        often = self.kernel.count >= OFTEN
        self.copied = not (there and own) or self.tiling.reads_behind or (aliased and often)
        if self.copied:
            self._plan_copy()

    def _plan_copy(self) -> None:
        """Lay the copy out: rows of the contraction, or as it is if those are not innermost."""
        operand = self.input
        steps = strides(operand.instr.shape.dims)
        if not operand.free or not operand.contracting or steps[operand.free[-1]] != 1:
            self.order = (*operand.batch, *operand.free, *operand.contracting)
        if self._line * self.element.bytes % processor.here().caches.aliased == 0:
            self.padding = machine.CACHE_LINE // self.element.bytes
        self.tiling = self._tiling()

    @property
    def _sizes(self) -> Sequence[int]:
        """Elements of the input's dimensions, as tiles count them."""
        return self.input.instr.shape.dims

    @property
    def _line(self) -> int:
        """Elements of the copy's innermost dimension."""
        return self._sizes[self.order[-1]]

    @property
    def _steps(self) -> tuple[int, ...]:
        """From neighbour to neighbour of each of the input's dimensions."""
        *outer, _ = [self._sizes[d] for d in self.order] or [1]
        lengths = strides([*outer, self._line + self.padding]) if self.order else ()
        return tuple(lengths[self.order.index(d)] for d in range(len(lengths)))

    def _tiling(self) -> Tiling:
        operand, kernel, into = self.input, self.kernel, self._steps
        sizes = self._sizes
        in_batch = strides(kernel.sizes(kernel.batch))
        batch = [
            Dim(sizes[d], into[d], out, kernel.count * number)
            for d, out, number in zip(operand.batch, self.batch_out, in_batch, strict=True)
        ]
        positions = [
            Dim(sizes[d], into[d], out) for d, out in zip(operand.free, self.free_out, strict=True)
        ]
        numbers = strides(kernel.sizes(kernel.free))
        features = [
            Dim(size, 0, out, number)
            for size, out, number in zip(
                kernel.sizes(kernel.free), self.features_out, numbers, strict=True
            )
        ]
        steps = [ContractedDim(sizes[d], into[d]) for d in operand.contracting]
        if self.parts > 1:
            batch, positions, features = _doubled(batch), _doubled(positions), _doubled(features)
            features.append(Dim(2, 0, 1, 1))
            steps = [*(ContractedDim(s.size, 2 * s.input) for s in steps), ContractedDim(2, 1)]
        # Features of different panels do not lie side by side.
        outer = features[:-1] if self._order == "panels" else []
        features = [*joined(outer), *joined(features[len(outer) :])]
        return self._cut([*joined(batch), *features, *joined(positions)], steps)

    def _cut(self, dims: Sequence[Dim], steps: Sequence[ContractedDim]) -> Tiling:
        """The cut of the output into tiles."""
        written = self.copied or self.input.instr.opcode != "parameter"
        return Tiling(dims, steps, self.kind, self.exact, self._stride, written=written)

    @property
    def _stride(self) -> int | None:
        """Features side by side of a kernel that lies in memory as tiles could read it; else None.

        A constant is no such kernel: packed when the module is written, it costs nothing.
        """
        kernel = self.kernel
        there = isinstance(self.body.pointers_of(kernel.instr), Name) and self.parts == 1
        own = kernel.instr.shape.element_type is self.kind
        known = constant_numbers(self.body, kernel.instr) is not None
        if not (self._order and there and own) or known:
            return None
        return kernel.count if self._order == "rows" else kernel.sizes(kernel.free)[-1]

    @property
    def _order(self) -> str:
        """The order of a kernel that tiles could read: "rows", or "panels" of rows; else none."""
        kernel, rank = self.kernel, self.kernel.instr.shape.rank
        if (*kernel.batch, *kernel.contracting, *kernel.free) == tuple(range(rank)):
            return "rows"
        panels = (*kernel.batch, *kernel.free[:-1], *kernel.contracting, *kernel.free[-1:])
        return "panels" if panels == tuple(range(rank)) else ""

    @property
    def share_with_packing(self) -> float:
        """The share of the processor that is used, if packing the kernel counts as well.

        It counts where numbers are packed one by one, and few sums need each: else rows are copied,
        or squares of numbers are transposed. Rows of few numbers are packed so, where sums are
        stored one by one, too, and both parts of complex numbers.
        """
        kernel, share = self.kernel, self.tiling.share
        lanes = machine.WIDEST_VECTOR // self.kind.bytes
        innermost = kernel.instr.shape.rank - 1
        is_short = innermost in kernel.contracting and kernel.instr.shape.dims[innermost] < lanes
        both = is_short and self.tiling.lane.output != 1
        known = self.tiling.in_place or constant_numbers(self.body, kernel.instr) is not None
        if known or not (both or self.parts > 1):
            return share
        uses = self.input.count
        return share * uses / (uses + PACKED_ONE_BY_ONE * lanes)

    def kernel_at_hand(self) -> Expr | None:
        """The kernel in place, or packed already; None if it must be packed."""
        if self.tiling.in_place:
            return Cast(Pointer(self.kind.name, const=True), self.body.pointer(self.kernel.instr))
        numbers = constant_numbers(self.body, self.kernel.instr) if self.parts == 1 else None
        if numbers is None:
            return None
        kernel = self.kernel
        numbers = numbers.transpose((*kernel.batch, *kernel.free, *kernel.contracting))
        return packed_constant(
            self.body, self.tiling, numbers.reshape(-1, kernel.depth), kernel.instr
        )

    def _of_input(self, at: Index) -> Expr:
        """A number of the input."""
        return element_as(self.body, self.input.instr, at, self.element)

    def _kernel_index(self, feature: Sum, steps: Index) -> Index:
        """The index of a kernel's element."""
        kernel = self.kernel
        at = delinear(feature, kernel.sizes((*kernel.batch, *kernel.free)))
        inner = steps[: len(kernel.contracting)]  # a tiling has one step where there is none
        return kernel.index(at[: len(kernel.batch)], at[len(kernel.batch) :], inner)

    def number(self, feature: Sum, steps: Index) -> Expr:
        """A number of the kernel: features count its free dimensions at each index of the batch."""
        of_result = feature % self.parts
        index = self._kernel_index(feature // self.parts, steps)
        value = element_as(self.body, self.kernel.instr, index, self.element)
        if self.parts == 1:
            return value
        of_input = indexed(steps[-1])
        real, imaginary = (Op(part, (value,)) for part in ("real", "imag"))
        other = Group(Choose(of_input, -imaginary, imaginary))
        return Choose(binary("==", Group(indexed(of_result)), of_input), real, other)

    @property
    def copy_size(self) -> int:
        """The number of elements of the copy, with those that tiles may read after it."""
        lines = prod(self._sizes) // self._line
        return lines * (self._line + self.padding) * self.parts + READ_BEHIND

    def copy(self, body: Body, pointer: Expr) -> None:
        """Copy the input, with zeros after it."""
        rest = pointer + (self.copy_size - READ_BEHIND)
        body.call(BUILTINS["memset"], rest, 0, READ_BEHIND * self.kind.bytes)
        instr, into = self.input.instr, self._steps
        lane = body.name("i")
        sizes = [self._sizes[d] for d in self.order]
        with body.loops("i" * (len(sizes) - 1), sizes[:-1], parallel=True) as outer:
            at, index = [Sum(0)] * len(sizes), Sum(0)
            for d, i in zip(self.order, (*outer, counter(lane, sizes[-1])), strict=True):
                at[d], index = i, index + i * into[d]
            if self.parts == 1:
                value = partial(self._of_input, tuple(at))
                write_row(body, self.kind, (lane, sizes[-1]), (pointer, index), value)
                return
            with body.block() as statements:
                value = element_as(body, instr, tuple(at), self.element)
                for part in range(self.parts):
                    number = Op(("real", "imag")[part], (value,))
                    body.assign(item(pointer, index * self.parts + part), number)
            body.add(over(lane, sizes[-1], statements))


def _doubled(dims: Sequence[Dim]) -> list[Dim]:
    """Dimensions of pairs of numbers."""
    return [Dim(d.size, 2 * d.input, 2 * d.output, 2 * d.feature) for d in dims]
