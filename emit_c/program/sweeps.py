"""Kernels with several results and folds: the loops of `optimizer.fusion.nest` in C.

Rows are gone through one after the other, each as often as there are sweeps. What a row yields, its
folds and what is computed from them, lies in variables; what a later sweep needs of a whole row and
is dear to compute lies in an array of a row's length. Where neighbours in memory belong to
different folds, some of them are folded side by side, and each variable is an array.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from codegen.elements.types import load
from codegen.expressions import Name, item
from codegen.kinds import wide
from codegen.opcodes.folding import fold_of, in_lanes, over
from codegen.statements import For, live, vectorized
from emit_c.kernels.unroll_short_loops import MOST_WRITTEN
from emit_c.kernels.writing import write_loops
from emit_c.opcodes.folding import SUMS_OF_A_FOLD, blocks, of_columns
from hlo.opcode import TRANSCENDENTAL
from hlo.support import machine
from optimizer.analysis.indexing import Sum, counter, delinear, linear
from optimizer.fusion.policy import CPU

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from codegen.elements.writer import Values
    from codegen.expressions import Expr
    from codegen.opcodes.folding import Fold
    from codegen.statements import Statement
    from emit_c.kernels.kernel import CKernel
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index
    from optimizer.fusion.digits import DigitIndex
    from optimizer.fusion.nest import LoopNest


Pointers = dict["Instruction", list[Name]]


def write_sweeps(kernel: CKernel, nest: LoopNest, outputs: Pointers) -> tuple[Statement, ...]:
    """The statements of a kernel.

    Parameters
    ----------
    outputs : the kernel's pointers to where each result goes.
    """
    if not nest.folds:
        pairs = [(o, (pointer,)) for o, pointers in outputs.items() for pointer in pointers]
        return write_loops(kernel, pairs)
    if not nest.by_columns or _are_written_out(nest):
        _ByRows(kernel, nest, outputs).write()
    else:
        for block in blocks(_columns(nest), _most_columns(nest)):
            _ByColumns(kernel, nest, outputs, block).write()
            # Scalars computed for one block are not those of the next.
            kernel.body.environment.scalars.clear()
    return tuple(kernel.writer.blocks[0])


def _are_written_out(nest: LoopNest) -> bool:
    """Whether the rows that a column folds are so few that each has statements of its own.

    The constants of two functions do not fit into registers together: with the exponentials and
    the logarithm of a column in one loop, the CTC loss of `benchmarks.sequences` takes 1.7 times as
    long.
    """
    rows, functions = nest.count(nest.folded), {m.opcode for m in nest.members} & TRANSCENDENTAL
    if len(functions) > 1:
        return False
    if nest.sweeps > 1:
        # Later sweeps fold nothing: their loops are written out if they are shorter.
        return rows <= max(machine.SHORT_LOOPS) and _columns(nest) >= machine.LANES
    return (
        _columns(nest) >= machine.BLOCK_OF_LANES
        and rows <= machine.HALF_VECTOR
        and rows * len(nest.members) <= MOST_WRITTEN
    )


class _ByRows:
    """Writes the loops of a reduction whose elements are neighbours in memory, or few."""

    def __init__(self, kernel: CKernel, nest: LoopNest, outputs: Pointers) -> None:
        self.body, self.nest, self.outputs = kernel.body, nest, outputs
        self.counters: dict[int, Sum] = {}
        self.stored = _stored(nest)
        # Where whole values lie, for later sweeps to read.
        self.targets: dict[Instruction, Expr] = {}
        # The counters of all sweeps have the same names.
        runs = nest.runs(nest.folded)
        self.inner = [(self.body.name("j"), nest.count(run)) for run in runs]
        for run, (name, size) in zip(runs, self.inner, strict=True):
            self._count(run, counter(name, size))

    # ------------------------------------------------------------------- loops

    def write(self) -> None:
        """Write the sweeps over each row, one after the other."""
        with self._rows():
            self.targets = {i: self._lies(i) for i in self.stored}
            for number in range(self.nest.sweeps):
                self._row_values(number)
                self._sweep(number)
            self._row_results()

    @contextmanager
    def _rows(self) -> Generator[None]:
        """The loops over rows."""
        runs = self.nest.runs(self.nest.kept)
        sizes = [self.nest.count(run) for run in runs]
        with self.body.loops(["i"] * len(sizes), sizes, parallel=True) as index:
            for run, number in zip(runs, index, strict=True):
                self._count(run, number)
            yield

    def _count(self, run: DigitIndex, number: Sum) -> None:
        """Let a number count the digits of a run."""
        sizes = [self.nest.digits.size(digit) for digit in run]
        self.counters.update(zip(run, delinear(number, sizes), strict=True))

    def _through(self, statements: Sequence[Statement], folds: Sequence[Fold]) -> None:
        """The loops over the reduced dimensions."""
        loops: tuple[Statement, ...] = tuple(live(statements))
        for name, size in reversed(self.inner):
            loops = (For(name, size, loops),)
        self.body.add(*(in_lanes(loops, folds) if folds else vectorized(loops)))

    def _index(self, instr: Instruction, index: DigitIndex | None = None) -> Index:
        """The index of a value in the loops' counters, where it is read.

        Parameters
        ----------
        index : one of several at which it is read; None if there is only one.
        """
        digits = self.nest.index_of[instr] if index is None else index
        groups = self.nest.digits.grouped(digits, instr.shape.dims)
        assert groups is not None
        return tuple(self._number(group) for group in groups)

    def _number(self, digits: DigitIndex) -> Sum:
        total = Sum(0)
        for digit in digits:
            total = total * self.nest.digits.size(digit) + self.counters[digit]
        return total

    def _lies(self, instr: Instruction) -> Expr:
        """The element of a whole value: in a result, or in an array of the kernel."""
        kind = instr.shape.element_type
        if instr in self.outputs:
            number = linear(self._index(instr), instr.shape.dims)
            return load(kind, item(self.outputs[instr][0], number))
        array = self.body.variable(wide(kind), instr.name, size=self._row_size())
        return item(array, self._row_number())

    def _row_size(self) -> int:
        return self.nest.count(self.nest.folded)

    def _row_number(self) -> Sum:
        return self._number(self.nest.folded)

    # ------------------------------------------------------------------ sweeps

    def _sweep(self, number: int) -> None:
        """Everything that is done in one sweep."""
        whole = [i for i, sweep in self.stored.items() if sweep == number]
        folds = {f: self._fold(f) for f in self.nest.folds if self.nest.sweep[f] == number}
        together = [f for f in folds if folds[f].lanes is not None]
        if together or whole:
            with self.body.block() as statements:
                self._compute(whole)
                self._fold_in({f: folds[f] for f in together})
            self._through(statements, [folds[f] for f in together])
        known = self.body.environment.scalars
        known.update({i: (self.targets[i],) for i in whole})
        for alone in (f for f in folds if f not in together):
            with self.body.block() as statements:
                self._fold_in({alone: folds[alone]})
            self._through(statements, [folds[alone]])
        known.update({f: self._results(f, fold) for f, fold in folds.items()})

    def _compute(self, whole: Sequence[Instruction]) -> None:
        """Compute elements of whole values, and store them."""
        values = {i: self.body.element(i, self._index(i)) for i in whole}
        for instr, value in values.items():
            if instr not in self.outputs:
                self.body.assign(self.targets[instr], value)
        self._put(values)

    def _put(self, values: Mapping[Instruction, Expr]) -> None:
        """Store results."""
        for instr, value in values.items():
            number = linear(self._index(instr), instr.shape.dims)
            for pointer in self.outputs.get(instr, ()):
                stored = self.body.stored(instr.shape.element_type, value)
                self.body.assign(item(pointer, number), stored)

    def _fold_in(self, folds: Mapping[Instruction, Fold]) -> None:
        """Fold in one more element of each."""
        # All reductions go over the whole order; their operands may be used elsewhere too.
        whole = self.nest.order
        news = {f: [self.body.element(o, self._index(o, whole)) for o in _folded(f)] for f in folds}
        for instr, fold in folds.items():
            fold.add(news[instr])

    def _fold(self, instr: Instruction) -> Fold:
        """Variables for a fold, with the initial values."""
        return fold_of(self.body, instr, **self._beside())

    def _results(self, instr: Instruction, fold: Fold) -> Values:
        """The results of a row's folds, for the row's elements to use."""
        pairs = zip(fold.types, fold.results, strict=True)
        return tuple(self.body.let(wide(kind), instr.name, value) for kind, value in pairs)

    def _beside(self) -> dict[str, Any]:
        """The options of variables for values that lie side by side."""
        return {}

    # -------------------------------------------------------------- row values

    def _row_values(self, number: int) -> None:
        """Compute the values that a sweep needs of each row."""
        known = self.body.environment.scalars
        for instr in self._needed(number):
            known[instr] = self.body.elements(instr, self._index(instr))

    def _needed(self, number: int) -> list[Instruction]:
        """The values that a row needs once before a sweep, for its elements."""
        nest = self.nest
        if nest.kept == nest.order:
            return []
        by_row = {m for m in nest.members if nest.index_of.get(m) == nest.kept}
        by_row = {m for m in by_row if m.opcode not in ("reduce", "constant")}
        users = (m for m in nest.members if m not in by_row and m.opcode != "reduce")
        used = {o for m in users for o in m.operands}
        needed = by_row & used
        return [m for m in nest.members if m in needed and nest.sweep[m] == number]

    def _row_results(self) -> None:
        """Store the results of a row."""
        rows = [o for o in self.outputs if o not in self.stored]
        self._put({o: self.body.element(o, self._index(o)) for o in rows})


class _ByColumns(_ByRows):
    """Writes the loops where neighbours in memory belong to different folds.

    Parameters
    ----------
    block : how many blocks of columns there are, where they begin, how wide they are.
    """

    def __init__(
        self, kernel: CKernel, nest: LoopNest, outputs: Pointers, block: tuple[int, int, int]
    ) -> None:
        super().__init__(kernel, nest, outputs)
        self.count, self.start, self.width = block
        self.column = self.body.name("column")

    @contextmanager
    def _rows(self) -> Generator[None]:
        """The loops over rows, and over blocks of columns."""
        *outer, last = self.nest.runs(self.nest.kept)
        sizes = [*(self.nest.count(run) for run in outer), self.count]
        names = [*("i" for _ in outer), "block"]
        with self.body.loops(names, sizes, parallel=True) as (*index, block):
            for run, number in zip(outer, index, strict=True):
                self._count(run, number)
            column = counter(self.column, self.width)
            self._count(last, block * self.width + column + self.start)
            yield

    def _through(self, statements: Sequence[Statement], folds: Sequence[Fold]) -> None:
        """The loops over the reduced dimensions, and inside them the one over columns."""
        loops: tuple[Statement, ...] = (self._over_columns(statements),)
        for name, size in reversed(self.inner):
            loops = (For(name, size, loops, parallel=not folds),)
        self.body.add(*(of_columns(loops, folds) if self.inner else loops))

    def _over_columns(self, statements: Sequence[Statement]) -> For:
        return over(self.column, self.width, live(statements))

    def _row_size(self) -> int:
        return super()._row_size() * self.width

    def _row_number(self) -> Sum:
        return super()._row_number() * self.width + counter(self.column, self.width)

    def _results(self, instr: Instruction, fold: Fold) -> Values:  # noqa: ARG002
        return fold.results

    def _beside(self) -> dict[str, Any]:
        return {"size": self.width, "counter": self.column}

    def _row_values(self, number: int) -> None:
        needed = self._needed(number)
        rows: dict[Instruction, Expr] = {}
        for instr in needed:
            kind = wide(instr.shape.element_type)
            array = self.body.variable(kind, instr.name, size=self.width)
            rows[instr] = item(array, Name(self.column))
        with self.body.block() as statements:
            values = {i: self.body.element(i, self._index(i)) for i in needed}
            for instr, value in values.items():
                self.body.assign(rows[instr], value)
        if needed:
            self.body.add(self._over_columns(statements))
        self.body.environment.scalars.update({i: (element,) for i, element in rows.items()})

    def _row_results(self) -> None:
        with self.body.block() as statements:
            super()._row_results()
        if statements:
            self.body.add(self._over_columns(statements))


def _folded(fold: Instruction) -> tuple[Instruction, ...]:
    """The arrays that a reduce folds."""
    return fold.operands[: len(fold.operands) // 2]


def _columns(nest: LoopNest) -> int:
    """The number of neighbours in memory that belong to different folds."""
    return nest.count(nest.runs(nest.kept)[-1])


def _most_columns(nest: LoopNest) -> int:
    """The largest number of columns that are reduced side by side: as many as the cache holds."""
    if nest.sweeps == 1:
        return SUMS_OF_A_FOLD
    fitting = CPU.row_bytes * machine.LANES // max(nest.row_bytes(), 1)
    return max(min(SUMS_OF_A_FOLD, fitting), machine.LANES)


def _stored(nest: LoopNest) -> dict[Instruction, int]:
    """The whole values that are stored, and the sweeps in which they are computed.

    These are results, and what is dear and needed in several sweeps.
    """
    if nest.kept == nest.order:
        return {}
    sweeps: dict[Instruction, set[int]] = {}
    for fold in nest.folds:
        for array in _folded(fold):
            sweeps.setdefault(array, set()).add(nest.sweep[fold])
    least: dict[Instruction, int] = {}
    for member in reversed(nest.members):
        if nest.index_of.get(member) != nest.order:
            continue
        needed = sweeps.get(member, set[int]())
        if member in nest.outputs:
            needed = needed | {nest.sweep[member]}
        dear = CPU.is_expensive(member) or member.opcode == "divide"
        if member in nest.outputs or (dear and len(needed) > 1):
            least[member] = min(needed)
            needed = {min(needed)}
        for operand in member.operands:
            sweeps.setdefault(operand, set()).update(needed)
    return dict(reversed(least.items()))
