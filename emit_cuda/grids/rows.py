"""A writer of softmax, layer norm and their kind: threads own a row, and read it once.

Between two folds all threads wait for the first one's result. So the kernel is a row of *passes*:
in each, threads go through their elements of the row, and compute what the folds before it allow.
Values for a later pass stay in registers: each thread meets the same elements in each pass. Of rows
too long for that, all is computed again from arrays in memory.

References
----------
XLA, `xla/backends/gpu/codegen/emitters/reduction.cc` (`MultiRowReductionFusion`) and
`xla/service/gpu/transforms/softmax_rewriter_triton.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.elements.types import load
from codegen.expressions import THREAD_X, Name, binary, indexed, item
from codegen.kinds import wide
from codegen.schedule.order import bind
from codegen.statements import For, LocalVariable, live
from emit_cuda.grids.folding import shared_fold
from emit_cuda.grids.groups import on_groups, threads_for
from emit_cuda.loops import vectors
from emit_cuda.loops.packs import Pack
from emit_cuda.loops.pairs import TYPES as PAIRED
from optimizer.analysis.indexing import Counter, Sum, counter, delinear, linear
from optimizer.fusion.row_passes import row_passes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.statements import Statement
    from emit_cuda.grids.folding import SharedFold
    from emit_cuda.grids.kernel import CudaKernel
    from emit_cuda.grids.stages import Stage
    from hlo.instruction import Computation, Instruction
    from hlo.types.element_type import ElementType
    from optimizer.analysis.indexing import Index
    from optimizer.fusion.row_passes import RowPasses
    from optimizer.fusion.rows import Rows

    Outputs = Sequence[tuple[Instruction, Name]]

# Registers that a thread may spend on elements which a later pass needs, of at most 255; those that
# the threads of a block have together, and those that each needs besides.
MOST_KEPT, REGISTERS, OTHERS = 96, 1 << 16, 14


def row_stage(
    kernel: CudaKernel,
    rows: Rows,
    computation: Computation,
    outputs: Sequence[tuple[Instruction, Name]],
) -> Stage | None:
    """A launch that computes a fusion row by row; None where a fold can't be shared.

    Parameters
    ----------
    outputs : the results of the fusion, with the kernel's pointers to their memory.
    """
    folds = [i for i in computation.instructions if rows.folds(i)]
    with kernel.body.block():
        if any(shared_fold(kernel, fold) is None for fold in folds):
            return None
    with kernel.body.block() as statements:
        row = _RowKernel(
            kernel, rows, row_passes(rows, computation, [r for r, _ in outputs]), outputs
        )
        row.write()
    lanes = bind(For(row.lane, row.group, live(statements), parallel=True), THREAD_X)
    nest = For(row.row, rows.count, (*row.shared, lanes), parallel=True)
    return on_groups(kernel.body, nest, row.group, "rows")


def _threads_for(row: int, width: int) -> int:
    """The number of threads that go through a row: of a short one, each has a whole vector."""
    group = threads_for(row)
    return group if row % width else min(group, 1 << ((row // width).bit_length() - 1))


class _RowKernel:
    """Writes the code of a group of threads with its row."""

    def __init__(
        self,
        kernel: CudaKernel,
        rows: Rows,
        passes: RowPasses,
        outputs: Outputs,
    ) -> None:
        body = self.body = kernel.body
        self.kernel = kernel
        self.rows, self.passes, self.outputs = rows, passes, outputs
        arrays = [*passes.read, *(i for i, _ in outputs)]
        self.group = _threads_for(rows.size, vectors.width_for(arrays))
        self.width = vectors.width_of_rows(arrays, rows.size, self.group)
        self.each = -(-rows.size // (self.group * self.width))
        self.row, self.lane = body.name("row"), body.name("lane")
        self.shared: list[Statement] = []
        self.number = counter(self.row, rows.count)
        self.at = delinear(self.number, rows.kept)
        self.kept: dict[Instruction, Name] = {}
        size = self.each * self.width
        for instr in self._fitting(size):
            known = body.environment.aliases.get(instr)
            name = f"{(known[1] if known else instr).name}_kept"
            element = instr.shape.element_type
            kind = element.name if self._as_stored(element) else wide(element)
            self.kept[instr] = body.variable(kind, name, size=size)

    def _fitting(self, size: int) -> list[Instruction]:
        """The values that registers can keep: all, or those that spare the most reading.

        Parameters
        ----------
        size : elements of each value that a thread has.
        """
        words = {i: size * -(-i.shape.element_type.bytes // 4) for i in self.passes.kept}
        left = min(MOST_KEPT, REGISTERS // self.group - OTHERS)
        if sum(words.values()) <= left:
            return list(words)
        members: list[Instruction] = []
        read = [i for i in words if i.opcode == "parameter"]
        for instr in sorted(read, key=lambda i: len(self.passes.readers[i]), reverse=True):
            if words[instr] <= left:
                members.append(instr)
                left -= words[instr]
        return members

    def _as_stored(self, kind: ElementType) -> bool:
        """Whether elements are kept as they are stored: two of 16 bits share a register."""
        return kind.name in PAIRED and self.width > 1

    def write(self) -> None:
        """All passes, and then the results of rows."""
        body, scalars = self.body, self.body.environment.scalars
        for number, folds in enumerate(self.passes.folds):
            for instr in self.passes.narrow[number]:
                body.element(instr, self.at)
            if folds or self.passes.stores[number]:
                self._pass(number, folds)
        with body.block() as stored:
            for instr, pointer in self.outputs:
                if self.rows.is_narrow(instr):
                    value = body.stored(instr.shape.element_type, body.element(instr, self.at))
                    body.assign(item(pointer, self.number), value)
        with body.when(binary("==", Name(self.lane), 0) if stored else None):
            body.add(*stored)
        for instr in [*self.kept, *(f for folds in self.passes.folds for f in folds)]:
            scalars.pop(instr, None)

    def _pass(self, number: int, instructions: Sequence[Instruction]) -> None:
        """Go through the row once, and fold."""
        body, scalars = self.body, self.body.environment.scalars
        folds = [f for f in (shared_fold(self.kernel, instr) for instr in instructions) if f]
        for fold in folds:
            fold.shared = self._shared_array
            fold.begin()
        self._loop(number, folds)
        for fold, instr in zip(folds, instructions, strict=True):
            fold.join_threads(self.group, everywhere=True)
            kind = wide(instr.shape.element_type)
            scalars[instr] = tuple(body.let(kind, instr.name, v) for v in fold.finish())

    def _shared_array(self, kind: str, wanted: str, size: int) -> Name:
        name = self.body.name(wanted)
        self.shared.append(LocalVariable(kind, name, size=size))
        return Name(name)

    def _loop(self, number: int, folds: Sequence[SharedFold]) -> None:
        """The statements of a thread for each of its elements."""
        body, rows, scalars = self.body, self.rows, self.body.environment.scalars
        v, width = body.name("v"), self.width
        groups = rows.size // width
        with body.loop("k", self.each, unroll=bool(self.kept)) as k:
            lane = counter(self.lane, self.group)
            r = body.let("s64", "r", indexed(counter(k.name, self.each) * self.group + lane))
            element = counter(r.name, groups) * width + counter(v, width)
            within = delinear(element, rows.row)
            index = (*self.at, *within)
            own = indexed(Sum(0, ((Counter(k.name, 0, self.each - 1), width),)) + counter(v, width))
            with body.block() as inside:
                for instr, array in self.kept.items():
                    if self.passes.kept[instr] < number:
                        in_array, kind = item(array, own), instr.shape.element_type
                        scalars[instr] = (
                            load(kind, in_array) if self._as_stored(kind) else in_array,
                        )
                for fold in folds:
                    fold.add(self.at, within)
                self._store(number, index)
                for instr, array in self.kept.items():
                    if self.passes.kept[instr] == number:
                        value, kind = body.element(instr, index), instr.shape.element_type
                        value = body.stored(kind, value) if self._as_stored(kind) else value
                        body.assign(item(array, own), value)
            ragged = self.each * self.group != groups
            with body.when(binary("<", r, groups) if ragged else None):
                body.add(*Pack(self.kernel, v, width).around(inside))

    def _store(self, number: int, index: Index) -> None:
        """Store the elements of wide results."""
        body = self.body
        pairs = [(i, p) for i, p in self.outputs if i in self.passes.stores[number]]
        computed = [(i, p, body.element(i, index)) for i, p in pairs]
        for instr, pointer, value in computed:
            target = item(pointer, linear(index, instr.shape.dims))
            body.assign(target, body.stored(instr.shape.element_type, value))
