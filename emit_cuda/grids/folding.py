"""Folds that several threads share: each begins with the neutral element, and then they meet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.elements.folds import all_joined, joined, neutral
from codegen.elements.types import store
from codegen.expressions import Apply, Cast, Expr, Literal, Name, Op, binary, item
from codegen.kinds import number_of
from codegen.opcodes.folding import ExtremeFold, fold_of
from codegen.statements import Assign, Let, LocalVariable, Statement
from emit_cuda.grids.stages import ALL_LANES, BARRIER, WARP
from hlo import attributes as a
from optimizer.analysis.indexing import Sum

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.callees import Callee
    from codegen.opcodes.folding import Fold
    from emit_cuda.grids.kernel import GridKernel
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index

# The types that threads can hand each other; others go as the wider one.
_SHUFFLED = {"s8": "s32", "u8": "s32", "pred": "s32", "s16": "s32", "u16": "s32"}


class SharedFold:
    """A reduce whose elements several threads fold.

    Attributes
    ----------
    variables : in which each thread folds: type and name.
    operations : by which two threads' variables become one; see `codegen.elements.folds`.
    """

    def __init__(
        self, kernel: GridKernel, instr: Instruction, fold: Fold, begun: list[Statement]
    ) -> None:
        self.kernel, self.body = kernel, kernel.body
        self.instr, self.fold, self.begun = instr, fold, begun
        lanes = {name: op for op, name in fold.lanes or ()}
        self.starts: dict[str, Expr] = {}
        self.variables: list[tuple[str, str]] = []
        self.operations: list[str] = []
        for number, statement in enumerate(begun):
            if isinstance(statement, LocalVariable) and statement.name in lanes and statement.value:
                operation, kind = lanes[statement.name], number_of(statement.kind)
                self.starts[statement.name] = statement.value
                self.variables.append((kind, statement.name))
                self.operations.append(operation)
                begun[number] = replace(statement, value=neutral(operation, kind))

    def begin(self) -> None:
        """Declare the variables, which hold nothing yet."""
        self.body.add(*self.begun)

    def add(self, kept_index: Index, reduced: Index) -> None:
        """Fold in one element."""
        attrs = a.Dimensions.of(self.instr)
        rank = self.instr.operands[0].shape.rank
        inner, outer = iter(reduced), iter(kept_index)
        at = tuple(next(inner if d in attrs.dimensions else outer) for d in range(rank))
        arrays = self.instr.operands[: len(self.instr.operands) // 2]
        self.fold.add([self.body.element(x, at) for x in arrays])

    def join(self, others: Sequence[Expr]) -> tuple[Statement, ...]:
        """Statements that fold another thread's variables into this one's."""
        names = [Name(name) for _, name in self.variables]
        joined = all_joined(list(zip(self.operations, names, others, strict=True)))
        kinds: dict[Expr, str] = {Name(name): kind for kind, name in self.variables}
        return tuple(Assign(s.target, _wrapped(kinds.get(s.target), s.value)) for s in joined)

    def join_warp(self, width: int, *, everywhere: bool = False) -> None:
        """Fold the variables of so many neighbours; the first of them has the result, or all."""
        body, step = self.body, width // 2
        shuffle = FUNCTIONS["__shfl_xor_sync" if everywhere else "__shfl_down_sync"]
        while step:
            others = [
                body.let(kind, "other", self._shuffled(shuffle, kind, name, step, width))
                for kind, name in self.variables
            ]
            body.add(*self.join(others))
            step //= 2

    def join_threads(self, count: int, *, everywhere: bool = False) -> None:
        """Fold the variables of some lanes of a warp, or of a block; as `join_warp`."""
        self.join_warp(min(count, WARP), everywhere=everywhere)
        if count > WARP:
            self._join_warps(count // WARP, everywhere=everywhere)

    def from_lane_before(self, step: int) -> Expr:
        """The only variable of the lane so many before this one; of the first lanes their own."""
        ((kind, name),) = self.variables
        return self._shuffled(FUNCTIONS["__shfl_up_sync"], kind, name, step, WARP)

    def _shuffled(self, shuffle: Callee, kind: str, name: str, step: int, width: int) -> Expr:
        wide = _SHUFFLED.get(kind, kind)
        value: Expr = Name(name) if wide == kind else Cast(wide, Name(name))
        call = Apply(shuffle, (ALL_LANES, value, Literal(step), Literal(width)))
        return call if wide == kind else Cast(kind, call)

    def _join_warps(self, warps: int, *, everywhere: bool) -> None:
        """Fold the variables of the warps of a block, a power of two, through shared memory."""
        body, thread = self.body, Name("threadIdx.x")
        pairs = [
            (self.kernel.shared_array(kind, "warps", warps), Name(name))
            for kind, name in self.variables
        ]
        with body.when(binary("==", thread % WARP, 0)):
            for array, variable in pairs:
                body.assign(item(array, thread / WARP), variable)
        body.add(BARRIER)
        with body.when(None if everywhere else binary("<", thread, WARP)):
            for array, variable in pairs:
                body.assign(variable, item(array, thread % warps))
            self.join_warp(warps, everywhere=everywhere)

    def fold_part(
        self, number: str, bounds: tuple[Expr, Expr], threads: int, add: Callable[[Name], None]
    ) -> None:
        """Fold numbers from the first bound below the second one by a block.

        Parameters
        ----------
        number : the name of a number, of which `add` folds something in.
        """
        begin, end = bounds
        start = self.body.let("s64", "first", begin + Name("threadIdx.x"))
        with self.body.loop(number, end, start=start, step=threads) as counted:
            add(counted)
        self.join_threads(threads)

    def keep(self, arrays: Sequence[Name], number: Expr) -> None:
        """Store the variables, for a later launch."""
        for array, (_, variable) in zip(arrays, self.variables, strict=True):
            self.body.assign(item(array, number), Name(variable))

    def finish(self) -> list[Expr]:
        """The results of all threads, which this one has."""
        if not isinstance(self.fold, ExtremeFold):
            for (kind, name), operation in zip(self.variables, self.operations, strict=True):
                total = joined(operation, self.starts[name], Name(name))
                self.body.assign(Name(name), _wrapped(kind, total))
        return list(self.fold.results)

    def store(self, outputs: Sequence[Name], number: Sum) -> None:
        """Write the results."""
        for output, type_, value in zip(outputs, self.fold.types, self.finish(), strict=True):
            self.body.assign(item(output, number), store(type_, value))

    def sizes(self) -> tuple[list[int], list[int]]:
        """Of the dimensions that are kept, and of those that are reduced."""
        attrs = a.Dimensions.of(self.instr)
        dims = self.instr.operands[0].shape.dims
        kept_dims = [n for d, n in enumerate(dims) if d not in attrs.dimensions]
        return kept_dims, [dims[d] for d in sorted(attrs.dimensions)]


class SharedFolds(SharedFold):
    """Several reduces of the same dimensions, whose elements threads fold in one loop."""

    def __init__(self, folds: Sequence[SharedFold]) -> None:
        self.folds, self.kernel = folds, folds[0].kernel
        self.body, self.instr = self.kernel.body, folds[0].instr
        self.variables = [variable for fold in folds for variable in fold.variables]
        self.operations = [operation for fold in folds for operation in fold.operations]

    def begin(self) -> None:
        """Declare the variables of all."""
        for fold in self.folds:
            fold.begin()

    def add(self, kept_index: Index, reduced: Index) -> None:
        """Fold in one element of each."""
        for fold in self.folds:
            fold.add(kept_index, reduced)

    def store(self, outputs: Sequence[Name], number: Sum) -> None:
        """Write the results of all."""
        remaining = list(outputs)
        for fold in self.folds:
            count = len(fold.fold.types)
            fold.store(remaining[:count], number)
            del remaining[:count]


class ColumnFolds(SharedFolds):
    """A fold of each of a few neighbouring columns, which a thread folds side by side.

    Parameters
    ----------
    folds : of the columns, by the same reduce.
    column : the kept dimension that counts them, among those that are kept.
    """

    def __init__(self, folds: Sequence[SharedFold], column: int) -> None:
        super().__init__(folds)
        self.fold, self.column = folds[0].fold, column

    def add(self, kept_index: Index, reduced: Index) -> None:
        """Fold in one element of each column."""
        before, after = kept_index[: self.column], kept_index[self.column :]
        for number, fold in enumerate(self.folds):
            fold.add((*before, Sum(number), *after), reduced)

    def store(self, outputs: Sequence[Name], number: Sum) -> None:
        """Write the results of all columns."""
        for column, fold in enumerate(self.folds):
            fold.store(outputs, number * len(self.folds) + column)

    def sizes(self) -> tuple[list[int], list[int]]:
        """Of the other dimensions that are kept, and of those that are reduced."""
        kept_dims, reduced = super().sizes()
        del kept_dims[self.column]
        return kept_dims, reduced


def _wrapped(kind: str | None, value: Expr) -> Expr:
    """A sum or product of signed integers by unsigned ones, which may overflow."""
    if kind in ("s32", "s64") and isinstance(value, Op) and value.op in ("+", "*"):
        return Cast(kind, Op(value.op, tuple(Cast(f"u{kind[1:]}", x) for x in value.args)))
    return value


def column_folds(kernel: GridKernel, instr: Instruction, last: int) -> ColumnFolds | None:
    """The folds of the columns along a dimension of a reduce's operand; None as `shared_fold`."""
    columns = instr.operands[0].shape.dims[last]
    folds = [shared_fold(kernel, instr) for _ in range(columns)]
    reduced = a.Dimensions.of(instr).dimensions
    known = [fold for fold in folds if fold is not None]
    return ColumnFolds(known, sum(d not in reduced for d in range(last))) if known else None


def shared_fold(kernel: GridKernel, instr: Instruction) -> SharedFold | None:
    """A reduce that threads can share; None where the order of its elements counts."""
    with kernel.body.block() as begun:
        fold = fold_of(kernel.body, instr)
    if fold.lanes is None:
        return None
    folding = SharedFold(kernel, instr, fold, begun)
    constant = all(isinstance(s, Let | LocalVariable) for s in begun)
    whole = len(folding.variables) == len(fold.names)
    neutrals = all(
        neutral(op, kind) is not None
        for op, (kind, _) in zip(folding.operations, folding.variables, strict=True)
    )
    return folding if constant and whole and neutrals else None
