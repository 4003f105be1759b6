"""Dot products of a matrix and a few vectors: as fast as the matrix is read, and read only once.

To pack it would take longer than to multiply. If a free dimension of the matrix is innermost in
memory, its rows are multiplied by the vectors' numbers, and added up side by side; if a contracted
dimension is, some of its rows at a time are multiplied with all vectors, along vector lanes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.elements.types import literal, store
from codegen.expressions import Apply, Expr, Group, Name, item, total_of
from codegen.opcodes.folding import over, parts_of
from codegen.opcodes.operands import Operand, operands_of
from codegen.opcodes.products import element_as
from codegen.opcodes.scalar import arithmetic
from codegen.statements import Assign, For
from emit_c.code import processor
from emit_c.contraction.quads import have_quads
from emit_c.contraction.tiles import result
from emit_c.kernels.gather_short_rows import can_be_gathered
from hlo.support import machine
from hlo.types.element_type import F32
from optimizer.analysis.indexing import Sum, counter, delinear, linear, strides
from optimizer.dimensions import largest_divisor
from optimizer.loops.operand_packing import FEW_SUMS_IN_MEMORY

if TYPE_CHECKING:
    from codegen.elements.body import Body
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from optimizer.analysis.indexing import Index

SUMS_OF_A_PRODUCT = machine.L1 // 2 // 4
"""Derived: f32 sums that lie side by side in half of the first-level cache."""
FEW_SUMS = 8
"""Measured: vectors that are multiplied by a matrix without register tiles, with sums in registers,
or where tiles would have to pack the matrix: it is outside of the second-level cache, and its
numbers are converted. With 2 in registers, conjugate gradients take 1.1 times as long, with 32 a
matrix by a vector 2. With tiles, products of 5 and 8 rows by 1024 x 4096, 1024 x 1024 and 3072 x
768 numbers of bf16 take 1.15 to 1.4 times as long."""
ROWS_AT_ONCE = 4
"""Measured: rows of a matrix that are added at once to the sums of a product. A GRU takes 1.5 times
as long with 1, and 1.04 with 16."""


def write_few_rows(body: Body, instr: Instruction, output: Name, kind: ElementType) -> bool:
    """Write a product if one operand is a few vectors; otherwise give False, and write nothing."""
    left, right = operands_of(instr)
    for swapped, few, matrix in ((False, left, right), (True, right, left)):
        product = _FewRows(body, instr, few, matrix, kind, swapped)
        if not matrix.free or not matrix.contracting or matrix.count < 2:
            continue
        step = strides(matrix.instr.shape.dims)
        if few.count <= _most_in_memory(instr, matrix, kind) and step[matrix.free[-1]] == 1:
            product.write_side_by_side(output)
            return True
        aligned = strides(few.instr.shape.dims)[few.contracting[-1]] == 1
        beside = aligned and step[matrix.contracting[-1]] == 1
        if beside and few.count * product.parts <= FEW_SUMS:
            product.write_in_lanes(output)
            return True
    return False


def _most_in_memory(instr: Instruction, matrix: Operand, kind: ElementType) -> int:
    """The number of vectors for which a matrix is read row after row."""
    by_rows = matrix.contracting[0] < matrix.free[0]
    large = matrix.instr.shape.unpacked_bytes > processor.here().caches.second.bytes
    converted = matrix.instr.shape.element_type is not kind and not have_quads(instr)
    few = FEW_SUMS if by_rows and large and converted else 0
    return max(few, FEW_SUMS_IN_MEMORY)


@dataclass(frozen=True, slots=True)
class _FewRows:
    """A product of a matrix and a few vectors.

    Attributes
    ----------
    swapped : whether the matrix is the left operand. Both may be the same instruction.
    """

    body: Body
    instr: Instruction
    few: Operand
    matrix: Operand
    kind: ElementType
    swapped: bool

    @property
    def parts(self) -> int:
        """The number of sums for one of the result's elements: complex ones have two parts."""
        return 2 if self.kind.is_complex else 1

    def write_side_by_side(self, output: Name) -> None:
        """Write, for each block of columns, the products of rows with a number of each vector."""
        body, kind = self.body, self.kind
        batch, free, depths = self._sizes()
        most = SUMS_OF_A_PRODUCT
        if self.few.count > FEW_SUMS_IN_MEMORY:
            # So many f32 fill half of the first-level cache, which all vectors' sums share.
            most = most * F32.bytes // (self.few.count * kind.bytes)
        width = largest_divisor(free[-1], min(most, max(free[-1] // 2, most // 8)))
        many = largest_divisor(depths[-1], ROWS_AT_ONCE)
        column = body.name("column")
        outer = [*batch, *free[:-1], free[-1] // width]
        with body.loops("b" * len(outer), outer, parallel=True) as (*counters, block):
            at, columns = tuple(counters[: len(batch)]), block * width + counter(column, width)
            there = (*counters[len(batch) :], columns)
            sums = [body.variable(f"{kind}", "sums", size=width) for _ in range(self.few.count)]
            zero = literal(kind, 0)
            body.add(over(column, width, [Assign(item(s, Name(column)), zero) for s in sums]))
            with body.loops("t" * len(depths), [*depths[:-1], depths[-1] // many]) as (*deep, last):
                steps = [(*deep, last * many + k) for k in range(many)]
                factors = [[self._number(at, row, k) for k in steps] for row in range(len(sums))]
                with body.block() as statements:
                    row = [self._element(at, there, k) for k in steps]
                    for total, numbers in zip(sums, factors, strict=True):
                        added = [self._product(*pair) for pair in zip(numbers, row, strict=True)]
                        target = item(total, Name(column))
                        body.assign(target, total_of([target, *added], "+"))
                body.add(over(column, width, statements))
            with body.block() as statements:
                for row, total in enumerate(sums):
                    self._store(output, (at, row, there), item(total, Name(column)))
            body.add(over(column, width, statements))

    def write_in_lanes(self, output: Name) -> None:
        """Write the products of some rows of the matrix with all vectors."""
        body, kind = self.body, self.kind
        batch, free, depths = self._sizes()
        most = FEW_SUMS // (self.few.count * self.parts)
        many = 1 if self._fits_a_lane() else largest_divisor(free[-1], most)
        outer = [*batch, *free[:-1], free[-1] // many]
        with body.loops("b" * len(outer), outer, parallel=True) as (*counters, block):
            at = tuple(counters[: len(batch)])
            rows = [(*counters[len(batch) :], block * many + k) for k in range(many)]
            real = kind.real
            zero = literal(real, 0)
            pairs = [(row, there) for row in range(self.few.count) for there in rows]
            sums = [
                [body.variable(f"{real}", "sum", zero) for _ in range(self.parts)] for _ in pairs
            ]
            lane = body.name("k")
            with body.loops("t" * (len(depths) - 1), depths[:-1]) as deep:
                k = (*deep, counter(lane, depths[-1]))
                with body.block() as statements:
                    for names, (row, there) in zip(sums, pairs, strict=True):
                        number, other = self._number(at, row, k), self._element(at, there, k)
                        product = self._product(number, other)
                        if kind.is_complex:
                            added = parts_of(body.let(f"{kind}", "product", product))
                        else:
                            added = [product]
                        for name, part in zip(names, added, strict=True):
                            body.assign(name, name + part)
                lanes = tuple(("+", name.name) for names in sums for name in names)
                body.add(For(lane, depths[-1], tuple(statements), simd=True, reductions=lanes))
            for names, (row, there) in zip(sums, pairs, strict=True):
                total = (
                    Apply(FUNCTIONS["complex", kind], tuple(names)) if kind.is_complex else names[0]
                )
                self._store(output, (at, row, there), total)

    def _fits_a_lane(self) -> bool:
        """Whether a row of the matrix is so short that rows are multiplied side by side in lanes.

        The loop over such a row is written out, and rows that are loaded apart are gathered.
        """
        kind = self.matrix.instr.shape.element_type
        depth = self.matrix.sizes(self.matrix.contracting)[-1]
        is_taken_apart = depth in (*machine.TAKEN_APART, *machine.TAKEN_WHOLE)
        return 1 < depth <= machine.LANES and (is_taken_apart or can_be_gathered(kind))

    def _sizes(self) -> tuple[list[int], list[int], list[int]]:
        matrix = self.matrix
        return tuple(matrix.sizes(d) for d in (matrix.batch, matrix.free, matrix.contracting))  # type: ignore[return-value]

    def _number(self, batch: Index, row: int, steps: Index) -> Expr:
        """A number of a vector."""
        at = self.few.index(batch, self._row(row), steps)
        return self.body.let(
            f"{self.kind}", "x", element_as(self.body, self.few.instr, at, self.kind)
        )

    def _row(self, row: int) -> Index:
        return delinear(Sum(row), self.few.sizes(self.few.free))

    def _element(self, batch: Index, free: Index, steps: Index) -> Expr:
        """A number of the matrix."""
        at = self.matrix.index(batch, free, steps)
        return self.body.let(
            f"{self.kind}", "y", element_as(self.body, self.matrix.instr, at, self.kind)
        )

    def _product(self, x: Expr, y: Expr) -> Expr:
        return Group(arithmetic("multiply", self.kind, x, y))

    def _store(self, output: Name, where: tuple[Index, int, Index], value: Expr) -> None:
        batch, row, there = where
        parts = (*there, *self._row(row)) if self.swapped else (*self._row(row), *there)
        number = linear((*batch, *parts), self.instr.shape.dims)
        target = self.instr.shape.element_type
        element = store(target, result(value, self.kind, target))
        self.body.assign(item(output, number), element)
