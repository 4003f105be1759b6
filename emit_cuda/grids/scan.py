"""Running folds, as cumulative sums: by a block for each row, or several with two launches.

Each thread folds four neighbours; the threads of a warp find by shuffles the results of the ones
before them, the warps of a block through shared memory, and a block carries its result from tile to
tile. Where rows are few and long, a first launch folds each part of a row, so that a block of the
second one can begin with the fold of all parts before its own. Columns need no scan: each thread
runs down one. Where they are too few for all threads of a GPU, it runs down a part of one.

References
----------
M. Harris et al., "Parallel prefix sum (scan) with CUDA", *GPU Gems 3*, 2007; XLA,
`xla/service/reduce_window_rewriter.cc`.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.elements.folds import neutral
from codegen.elements.types import store
from codegen.expressions import (
    BLOCK_X,
    THREAD_X,
    Choose,
    Expr,
    Name,
    at_most,
    binary,
    indexed,
    item,
)
from codegen.opcodes.axis_lines import DirectedAxisLines
from codegen.opcodes.windows import windows_of
from codegen.statements import Assign, For, If, live, renamed
from emit_cuda.grids.folding import shared_fold
from emit_cuda.grids.groups import STEP, FoldParts
from emit_cuda.grids.stages import BARRIER, SHARED_BLOCK, WARP, each_thread, in_turns
from emit_cuda.loops import vectors
from emit_cuda.loops.packs import Pack
from optimizer.analysis.indexing import Sum, counter, linear

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.statements import Statement
    from emit_cuda.grids.folding import SharedFold
    from emit_cuda.grids.kernel import CudaKernel
    from emit_cuda.grids.stages import Stage
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

# Neighbouring elements that a thread folds at a time.
EACH = 4
# So many rows or columns keep a GPU busy with a thread each; but long rows get a block each.
MANY = 2048
# The least number of elements in a part of a column.
LEAST_PART = 64


def scan_stages(
    kernel: CudaKernel, instr: Instruction, outputs: Sequence[Name]
) -> Sequence[Stage] | None:
    """Launches for a reduce-window that is a running fold along one dimension; None for others."""
    windows = windows_of(instr)
    run = windows.running
    if run is None or run.shift or windows.shape.dims != windows.dims:
        return None
    axis, lines = run.axis, DirectedAxisLines(windows.dims, run.axis, run.backwards)
    # Shorter rows are no work for a kernel like this.
    if lines.length < WARP:
        return None
    with kernel.body.block():
        fold = shared_fold(kernel, instr) if len(outputs) == 1 else None
    if fold is None or len(fold.variables) != 1:
        return [_columns(kernel, instr, outputs, lines)]
    wanted = min(lines.length // LEAST_PART, vectors.FILLS // lines.count)
    if prod(lines.dims[axis + 1 :]) >= WARP and wanted > 1:
        size = -(-lines.length // wanted)
        return _running_parts(kernel, fold, lines, size, outputs[0])
    apart = lines.in_rows and lines.length >= SHARED_BLOCK
    if lines.count >= MANY and not apart:
        return [_columns(kernel, instr, outputs, lines)]
    return _RunningFold(kernel, instr, fold, lines).launches(outputs[0])


def _columns(
    kernel: CudaKernel, instr: Instruction, outputs: Sequence[Name], lines: DirectedAxisLines
) -> Stage:
    """A thread for each row or column, which runs through it."""
    body, windows = kernel.body, windows_of(instr)
    with body.block() as statements:
        fold = windows.fold(body)
        with body.loop("i", lines.length) as i:
            index = lines.in_turn(counter("thread", lines.count), counter(i.name, lines.length))
            fold.add([body.element(x, index) for x in windows.arrays])
            windows.store(body, fold, outputs, index)
    return each_thread("thread", lines.count, statements, "running fold of columns")


def _running_parts(
    kernel: CudaKernel, fold: SharedFold, lines: DirectedAxisLines, size: int, output: Name
) -> list[Stage]:
    """A thread for each part of a column, which begins with the fold of all parts before it."""
    body, count, instr = kernel.body, lines.count, fold.instr
    parts = -(-lines.length // size)
    ((kind, variable),) = fold.variables
    partial = kernel.room(kind, "partial", count * (parts - 1))

    def index(column: Sum, i: Name) -> Index:
        return lines.in_turn(column, counter(i.name, lines.length))

    with body.block() as first:
        thread = counter("thread", count * (parts - 1))
        begin = body.let("s64", "first", indexed(thread // count * size))
        fold.begin()
        with body.loop("i", begin + size, start=begin) as i:
            fold.fold.add([body.element(instr.operands[0], index(thread % count, i))])
        body.assign(item(partial, Name("thread")), Name(variable))
    with body.block() as second:
        thread = counter("thread", count * parts)
        column = thread % count
        begin = body.let("s64", "first", indexed(thread // count * size))
        fold.begin()
        with body.loop("p", indexed(thread // count)) as p:
            body.add(*fold.join([item(partial, counter(p.name, parts - 1) * count + column)]))
        fold.finish()
        end: Expr = begin + size
        if lines.length % size:
            end = at_most(end, lines.length)
        end = body.let("s64", "last", end)
        with body.loop("i", end, start=begin) as i:
            at = index(column, i)
            fold.fold.add([body.element(instr.operands[0], at)])
            (result,), (element_type,) = fold.fold.results, fold.fold.types
            body.assign(item(output, linear(at, instr.shape.dims)), store(element_type, result))
    return [
        each_thread("thread", count * (parts - 1), live(first), "first stage of a running fold"),
        each_thread("thread", count * parts, live(second), "running fold of columns"),
    ]


class _RunningFold:
    """Writes the launches of a running fold."""

    def __init__(
        self, kernel: CudaKernel, instr: Instruction, fold: SharedFold, lines: DirectedAxisLines
    ) -> None:
        self.kernel, self.body, self.fold = kernel, kernel.body, fold
        self.instr, self.lines = instr, lines
        self.n, self.rows = lines.length, lines.count
        ((self.kind, variable),) = fold.variables
        self.total = Name(variable)
        identity = neutral(fold.operations[0], self.kind)
        assert identity is not None
        self.nothing: Expr = identity
        self.parts = FoldParts(self.rows, self.n, STEP)
        self.partial = kernel.room(self.kind, "partial", self.rows * self.parts.number)
        if self.parts.number == 1:
            kernel.rooms.clear()

    def launches(self, output: Name) -> list[Stage]:
        """The launches of the running fold: two where rows are cut into parts."""
        stages: list[Stage] = []
        if self.parts.number > 1:
            stages.append(self._stage(self._fold_parts, "first stage of a running fold"))
        return [*stages, self._stage(lambda: self._scan(output), "running fold")]

    def _stage(self, write: Callable[[], None], kind: str) -> Stage:
        with self.body.block() as statements:
            write()
        return self.kernel.stage(statements, self.rows * self.parts.number, SHARED_BLOCK, kind)

    def _begin(self) -> tuple[Sum, Name, Name, Name]:
        """The row's number, the number of the part, and where it begins and ends."""
        row, part, begin, end = self.parts.of_block(self.body, "row")
        self.fold.begin()
        return counter(row.name, self.rows), part, begin, end

    def _fold_parts(self) -> None:
        """Each block leaves the fold of its part."""
        body, fold = self.body, self.fold
        row, _, begin, end = self._begin()
        thread = THREAD_X
        start = body.let("s64", "first", begin + thread)
        with body.loop("i", end, start=start, step=SHARED_BLOCK) as i:
            index = self.lines.in_turn(row, counter(i.name, self.n))
            fold.fold.add([body.element(self.instr.operands[0], index)])
        fold.join_threads(SHARED_BLOCK)
        with body.when(binary("==", thread, 0)):
            body.assign(item(self.partial, BLOCK_X), self.total)

    def _scan(self, output: Name) -> None:
        """Each block runs through its row or part, tile by tile."""
        body, fold = self.body, self.fold
        row, part, begin, end = self._begin()
        if self.parts.number > 1:
            first = body.let("s64", "parts", BLOCK_X - part)
            with in_turns(body, "p", part, SHARED_BLOCK) as p:
                body.add(*fold.join([item(self.partial, first + p)]))
            fold.join_threads(SHARED_BLOCK, everywhere=True)
        carry = body.variable(self.kind, "carry", self.total)
        warps = self.kernel.shared_array(self.kind, "warps", SHARED_BLOCK // WARP)
        folded = body.variable(self.kind, "folded", size=EACH)
        with body.loop("tile", end, start=begin, step=SHARED_BLOCK * EACH) as tile:
            self._tile(row, end, tile, carry, (warps, folded), output)

    def _tile(
        self, row: Sum, end: Expr, tile: Name, carry: Name, room: tuple[Name, Name], output: Name
    ) -> None:
        """The statements of a block for as many neighbours as its threads fold at once."""
        body, fold, total = self.body, self.fold, self.total
        (warps, folded), x = room, THREAD_X
        # Rows that are whole vectors begin and end with one.
        vector = body.let("s64", "vector", tile / EACH + x)
        body.assign(total, self.nothing)

        def each(e: str, store: Sequence[Statement]) -> None:
            """Statements for each of a thread's neighbours that exist."""
            if self.n % EACH == 0:
                loop = Pack(self.kernel, e, EACH).around(store)
                body.add(If(binary("<", vector * EACH, end), tuple(loop)))
            else:
                inside = binary("<", vector * EACH + Name(e), end)
                body.add(For(e, EACH, (If(inside, tuple(store)),), unroll=True))

        def element(e: str) -> Index:
            number = counter(vector.name, -(-self.n // EACH)) * EACH + counter(e, EACH)
            return self.lines.in_turn(row, number)

        e = body.name("e")
        with body.block() as load:
            fold.fold.add([body.element(self.instr.operands[0], element(e))])
            body.assign(item(folded, Name(e)), total)
        each(e, load)
        base = self._before_thread(carry, warps)
        e = body.name("e")
        with body.block() as store:
            body.assign(total, base)
            body.add(*fold.join([item(folded, Name(e))]))
            fold.store([output], linear(element(e), self.instr.shape.dims))
        each(e, store)

    def _before_thread(self, carry: Name, warps: Name) -> Name:
        """The fold of all elements before a thread's own; `carry` becomes that of the whole tile.

        Parameters
        ----------
        carry : the fold of all tiles before this one.
        warps : room in shared memory for the fold of each warp.
        """
        body, total, x = self.body, self.total, THREAD_X
        lane = body.let("s64", "lane", x % WARP)
        before = self._before_in_warp(lane)
        last_lane = binary("==", lane, WARP - 1)
        body.add(If(last_lane, (Assign(item(warps, x / WARP), total),)), BARRIER)
        body.assign(total, carry)
        with body.loop("w", SHARED_BLOCK // WARP, unroll=True) as w:
            other = body.let(self.kind, "other", item(warps, w))
            body.add(If(binary("<", w, x / WARP), self.fold.join([other])))
            body.add(*self._joined(carry, other))
        body.add(*self.fold.join([before]))
        base = body.let(self.kind, "base", total)
        body.add(BARRIER)
        return base

    def _before_in_warp(self, lane: Name) -> Name:
        """The fold of the lanes before this one; the variable holds that and this lane's number."""
        body, step = self.body, 1
        while step < WARP:
            other = body.let(self.kind, "other", self.fold.from_lane_before(step))
            body.add(If(binary(">=", lane, step), self.fold.join([other])))
            step *= 2
        # All lanes come to the shuffle, though the first one has no use for it.
        other = body.let(self.kind, "other", self.fold.from_lane_before(1))
        return body.let(self.kind, "before", Choose(binary("==", lane, 0), self.nothing, other))

    def _joined(self, variable: Name, other: Expr) -> Sequence[Statement]:
        """Fold another thread's number into a variable of the fold's kind."""
        statements = self.fold.join([other])
        changed = {self.total.name: variable}
        return [renamed(s, changed) for s in statements]
