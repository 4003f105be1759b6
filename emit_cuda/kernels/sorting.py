"""Bitonic sorts: a block sorts a row in shared memory, any comparator inlined.

What is exchanged are the numbers of the row's elements. Of two that the comparator finds equal the
first one comes first, so that every sort is stable; and what fills the row up to a power of two
comes last.

References
----------
Batcher, *Sorting Networks and Their Applications*, 1968; XLA,
`xla/service/llvm_ir/sort_util.cc`.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.elements.types import load, wide
from codegen.expressions import Cast, Expr, Group, Literal, Name, binary, conjoined, item
from codegen.indexing import Sum, counter, linear
from codegen.statements import Assign, For, If
from emit_cuda.kernels.folding import BARRIER, WARP, place, when
from emit_cuda.kernels.stages import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.kernel import Kernel
    from codegen.indexing import Index
    from codegen.statements import Statement
    from hlo import attributes as a
    from hlo.instruction import Instruction

# Bytes of shared memory that every GPU gives a block, and the most threads that share a row.
SHARED_BYTES, MOST_THREADS = 48 << 10, 512
# Shorter rows are sorted by one thread each.
LEAST = 16


def sort_stage(kernel: Kernel, instr: Instruction, outputs: Sequence[Name]) -> Stage | None:
    """A launch that sorts each row by a block; None for rows that are short, or do not fit."""
    attrs: a.Sort = instr.attrs  # type: ignore[assignment]
    axis, dims = attrs.dimensions[0], instr.operands[0].shape.dims
    n = dims[axis]
    size = 1 << max(n - 1, 1).bit_length()
    bytes_each = 4 + sum(o.shape.element_type.bytes for o in instr.operands)
    complexes = any(o.shape.element_type.is_complex for o in instr.operands)
    if n < LEAST or size * bytes_each > SHARED_BYTES or complexes:
        return None
    with kernel.body.block() as statements:
        row = _Row(kernel, instr, axis, size)
        row.read()
        row.sort()
        row.write(outputs)
    rows = prod(dims) // n
    return Stage(tuple(statements), (rows, 1, 1), (row.threads, 1, 1), row.shared, kind="sort")


class _Row:
    """Writes what a block does with its row."""

    def __init__(self, kernel: Kernel, instr: Instruction, axis: int, size: int) -> None:
        body = self.body = kernel.body
        self.instr, self.axis, self.size = instr, axis, size
        self.dims = instr.operands[0].shape.dims
        self.n = self.dims[axis]
        self.types = [o.shape.element_type for o in instr.operands]
        self.threads = min(max(size // 2, WARP), MOST_THREADS)
        self.values = [Name(body.name("values")) for _ in self.types]
        self.order = Name(body.name("order"))
        others = [m for d, m in enumerate(self.dims) if d != axis]
        number = Sum(0)
        if prod(others) > 1:
            number = counter(body.let("s64", "row", Name("blockIdx.x")).name, prod(others))
        self.others = place(number, others)

    @property
    def shared(self) -> tuple[tuple[str, str, int], ...]:
        """The elements of the row, and their numbers in order."""
        pairs = zip(self.types, self.values, strict=True)
        rows = [(kind.name, name.name, self.size) for kind, name in pairs]
        return (*rows, ("s32", self.order.name, self.size))

    def _at(self, j: Sum) -> Index:
        return (*self.others[: self.axis], j, *self.others[self.axis :])

    def read(self) -> None:
        """Bring the row into shared memory."""
        body, name = self.body, self.body.name("j")
        with body.block() as each:
            body.assign(item(self.order, Name(name)), Cast("s32", Name(name)))
            j = counter(name, self.n)
            with body.block() as inside:
                values = [body.element(o, self._at(j)) for o in self.instr.operands]
                for array, kind, value in zip(self.values, self.types, values, strict=True):
                    body.assign(item(array, j), body.stored(kind, value))
            if self.n < self.size:
                when(body, binary("<", Name(name), self.n), inside)
            else:
                body.add(*inside)
        self._loop(name, self.size, each)
        body.add(BARRIER)

    def _loop(self, name: str, stop: int, statements: Sequence[Statement]) -> None:
        loop = For(name, stop, tuple(statements), start=Name("threadIdx.x"), step=self.threads)
        self.body.add(loop)

    def sort(self) -> None:
        """All exchanges: runs of 2, 4, 8, ... are merged, whose halves run against each other."""
        body = self.body
        level, down, pair = (body.name(n) for n in ("level", "down", "pair"))
        with body.block() as step:
            shift = Name(level) - Name(down)
            stride = body.let("s64", "stride", Cast("s64", Literal(1)) << Group(shift))
            with body.block() as exchange:
                p = Name(pair)
                first = body.let("s64", "first", p * 2 - Group(p & Group(stride - 1)))
                self._exchange(first, first + stride, Name(level))
            self._loop(pair, self.size // 2, exchange)
            body.add(BARRIER)
        levels = self.size.bit_length() - 1
        body.add(For(level, levels, (For(down, Name(level) + 1, tuple(step)),)))

    def _exchange(self, first: Expr, second: Expr, level: Name) -> None:
        """Put two numbers in the order of their run."""
        body = self.body
        x, y = (body.let("s32", "number", item(self.order, at)) for at in (first, second))
        swap = body.variable("pred", "second_is_first", binary("<", y, x))
        with body.block() as compare:
            before, after = self._compared(y, x), self._compared(x, y)
            tied = conjoined([binary("==", before, after), binary("<", y, x)])
            body.add(Assign(swap, before))
            body.add(If(tied, (Assign(swap, Literal(1)),)))
        when(body, conjoined([binary("<", x, self.n), binary("<", y, self.n)]), compare)
        forwards = binary("==", Group(Group(first >> Group(level + 1)) & 1), 0)
        wanted = body.let("pred", "forwards", forwards)
        turned = (Assign(item(self.order, first), y), Assign(item(self.order, second), x))
        body.add(If(binary("==", swap, wanted), turned))

    def _compared(self, x: Name, y: Name) -> Name:
        """Whether the comparator puts one element before another one."""
        body = self.body
        pairs = [
            body.let(wide(kind), "key", load(kind, item(array, number)))
            for array, kind in zip(self.values, self.types, strict=True)
            for number in (x, y)
        ]
        return body.let("pred", "before", body.apply(self.instr.called[0], *pairs)[0])

    def write(self, outputs: Sequence[Name]) -> None:
        """Store the row in order."""
        body, name = self.body, self.body.name("j")
        with body.block() as each:
            number = body.let("s64", "number", item(self.order, Name(name)))
            target = linear(self._at(counter(name, self.n)), self.dims)
            for output, array in zip(outputs, self.values, strict=True):
                body.assign(item(output, target), item(array, number))
        self._loop(name, self.n, each)
