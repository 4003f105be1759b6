"""Threads that have folded a part each meet: those of a warp by shuffles, warps in shared memory.

    for lane < 64 (threadIdx.x): part = ...; total = total + part

becomes, after each thread has its part,

    for step in 16, 8, 4, 2, 1: part = part + __shfl_down_sync(part, step)
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = part
    __syncthreads()
    if (threadIdx.x < 32) { part = warps[threadIdx.x % 2]; part = part + __shfl_down_sync(part, 1) }
    if (threadIdx.x == 0) total = total + part

References
----------
XLA, `xla/backends/gpu/codegen/emitters/reduction_base.cc`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.elements.folds import all_joined, joined, neutral
from codegen.elements.types import store
from codegen.expressions import THREAD_X, Cast, Expr, Name, Op, apply, binary, item
from codegen.kinds import number_of
from codegen.opcodes.folding import ExtremeFold, fold_of
from codegen.statements import Assign, Let, LocalVariable, Statement, base
from emit_cuda.grids.stages import ALL_LANES, BARRIER, WARP
from hlo import attributes as a
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from codegen.elements.body import Body
    from codegen.opcodes.folding import Fold
    from emit_cuda.grids.kernel import CudaKernel
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index, Sum

    # Gives an array that a block's threads share: of a type, by a name like this one, so large.
    SharedArray = Callable[[str, str, int], Name]

# The types that threads can hand each other; others go as the wider one.
_SHUFFLED = {"s8": "s32", "u8": "s32", "pred": "s32", "s16": "s32", "u16": "s32"}


class ThreadParts:
    """The parts of some folds that a thread has.

    Parameters
    ----------
    body : draws names, and gets statements.
    shared : declares arrays of the block.

    Attributes
    ----------
    variables : in which each thread folds: type and name.
    operations : by which two threads' variables become one; see `codegen.elements.folds`.
    """

    def __init__(
        self,
        body: Body,
        shared: SharedArray,
        variables: Sequence[tuple[str, str]] = (),
        operations: Sequence[str] = (),
    ) -> None:
        self.body, self.shared = body, shared
        self.variables, self.operations = list(variables), list(operations)

    def join(self, others: Sequence[Expr]) -> tuple[Assign, ...]:
        """Statements that fold another thread's variables into this one's."""
        names = [Name(name) for _, name in self.variables]
        joined = all_joined(list(zip(self.operations, names, others, strict=True)))
        return wrapped(joined, {name: kind for kind, name in self.variables})

    def join_warp(self, width: int, *, everywhere: bool = False) -> None:
        """Fold the variables of so many neighbours; the first of them has the result, or all."""
        body, step = self.body, width // 2
        way = "xor" if everywhere else "down"
        while step:
            others = [
                body.let(kind, "other", shuffled(way, kind, Name(name), step, width))
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
        return shuffled("up", kind, Name(name), step, WARP)

    def _join_warps(self, warps: int, *, everywhere: bool) -> None:
        """Fold the variables of the warps of a block, a power of two, through shared memory."""
        body, thread = self.body, THREAD_X
        pairs = [(self.shared(kind, "warps", warps), Name(name)) for kind, name in self.variables]
        with body.when(binary("==", thread % WARP, 0)):
            for array, variable in pairs:
                body.assign(item(array, thread / WARP), variable)
        body.add(BARRIER)
        with body.when(None if everywhere else binary("<", thread, WARP)):
            for array, variable in pairs:
                body.assign(variable, item(array, thread % warps))
            self.join_warp(warps, everywhere=everywhere)


def shuffled(way: str, kind: str, value: Expr, step: int, width: int) -> Expr:
    """The value that another one of so many neighbouring lanes has.

    Parameters
    ----------
    way : "up" to the lane so many before this one, "down" to one after it, or "xor".
    """
    wide = _SHUFFLED.get(kind, kind)
    value = value if wide == kind else Cast(wide, value)
    call = apply(FUNCTIONS[f"__shfl_{way}_sync"], ALL_LANES, value, step, width)
    return call if wide == kind else Cast(kind, call)


def wrapped(joined: Sequence[Assign], kinds: Mapping[str, str]) -> tuple[Assign, ...]:
    """Sums and products of signed integers by unsigned ones, as they may overflow.

    Parameters
    ----------
    kinds : the types of the variables that are assigned to.
    """
    return tuple(Assign(s.target, _wrapped(kinds.get(base(s.target)), s.value)) for s in joined)


def _wrapped(kind: str | None, value: Expr) -> Expr:
    if kind in ("s32", "s64") and isinstance(value, Op) and value.op in ("+", "*"):
        unsigned = ELEMENT_TYPES[kind].unsigned.name
        return Cast(kind, Op(value.op, tuple(Cast(unsigned, x) for x in value.args)))
    return value


class SharedFold(ThreadParts):
    """A reduce whose elements the threads of a writer fold, each beginning with nothing."""

    def __init__(
        self, kernel: CudaKernel, instr: Instruction, fold: Fold, begun: list[Statement]
    ) -> None:
        super().__init__(kernel.body, kernel.shared_array)
        self.instr, self.fold, self.begun = instr, fold, begun
        lanes = {name: op for op, name in fold.lanes or ()}
        self.starts: dict[str, Expr] = {}
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

    def add(self, kept: Index, reduced: Index) -> None:
        """Fold in one element."""
        attrs = a.Dimensions.of(self.instr)
        rank = self.instr.operands[0].shape.rank
        inner, outer = iter(reduced), iter(kept)
        at = tuple(next(inner if d in attrs.dimensions else outer) for d in range(rank))
        arrays = self.instr.operands[: len(self.instr.operands) // 2]
        self.fold.add([self.body.element(x, at) for x in arrays])

    def finish(self) -> list[Expr]:
        """The results of all threads, which this one has."""
        if not isinstance(self.fold, ExtremeFold):
            for (kind, name), operation in zip(self.variables, self.operations, strict=True):
                total = Assign(Name(name), joined(operation, self.starts[name], Name(name)))
                self.body.add(*wrapped([total], {name: kind}))
        return list(self.fold.results)

    def store(self, outputs: Sequence[Name], number: Sum) -> None:
        """Write the results."""
        for output, type_, value in zip(outputs, self.fold.types, self.finish(), strict=True):
            self.body.assign(item(output, number), store(type_, value))


def shared_fold(kernel: CudaKernel, instr: Instruction) -> SharedFold | None:
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
