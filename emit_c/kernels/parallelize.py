"""Loops whose iterations run on several threads.

A kernel's author marks a loop as parallel; here it becomes a function of a range of iterations,
which the runtime library calls for parts of the range (see `hlo_parallel` in runtime/runtime.h).
That is done for the outermost loops of a kernel, and only where there is enough work: to wake
another thread takes as long as to add fifty thousand numbers.

Memory that each thread needs for itself comes from `Body.own`. What is declared before the loop
from that memory is declared again in the function, from the memory of the part that runs there.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.expressions import Expr, Group, Literal, Member, Name, Op, Struct
from codegen.functions import Function, Parameter
from codegen.kinds import Pointer, Record, unrestricted
from codegen.loops.work import LEAST_WORK, trip_count, work
from codegen.schedule.loop import LoopView
from codegen.schedule.types import KernelTypes
from codegen.statements import (
    Assign,
    Call,
    For,
    If,
    Let,
    LocalVariable,
    Statement,
    names_in,
    nested,
)
from codegen.walk import names_of
from emit_c.kernels.peephole.inline_uses import inline_uses
from hlo.support import machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.kinds import Kind
    from emit_c.kernels.kernel import CKernel

MANY_ITERATIONS = 256
"""Measured: nested loops become one until it has so many iterations, enough for many threads. With
64 or 1024 a transposition takes 1.05 times as long."""
MOST_IN_BLOCK = 4096
"""Measured: iterations of a block of constant size, of which threads take several. With 1024, `exp`
of a million numbers takes 1.2 times the CPU time; with 16384, Adam takes 1.1 times as long."""


def parallelize(
    kernel: CKernel, name: str, statements: Sequence[Statement], before: Sequence[Statement] = ()
) -> tuple[Statement, ...]:
    """A kernel's statements, with its parallel loops as functions of their own.

    Parameters
    ----------
    before : those that have run before.

    Raises
    ------
    AssertionError
        if a loop is marked as parallel but changes a variable that its iterations share.
    """
    found: list[Statement] = []
    for statement in statements:
        if isinstance(statement, For) and _is_worth_it(statement):
            loop = _in_blocks(kernel, statement)
            found.append(_Split(kernel, name, loop, (*before, *found)).call())
        elif isinstance(statement, If):
            known = (*before, *found)
            both = (
                parallelize(kernel, name, s, known) for s in (statement.then, statement.otherwise)
            )
            found.append(If(statement.condition, *both))
        else:
            found.append(statement)
    return tuple(found)


def _in_blocks(kernel: CKernel, loop: For) -> For:
    """A loop over vectors as a loop over blocks of a constant size, where blocks fill it.

    A compiler that knows the size writes the body once; for any range of iterations it writes it
    three times, for whole vectors and twice for what is left.
    """
    sizes = range(MOST_IN_BLOCK, 0, -machine.BLOCK_OF_LANES)
    size = next((n for n in sizes if trip_count(loop) % n == 0), None)
    if not loop.simd or loop.step != 1 or size is None:
        return loop
    block, inside = (kernel.body.name(f"{loop.name}_{word}") for word in ("block", "inside"))
    index = Name(block) * size + Name(inside)
    counter = Let("s64", loop.name, index + loop.start if loop.start else index)
    lanes = For(inside, size, (counter, *loop.body), simd=True)
    return For(block, trip_count(loop) // size, (lanes,), parallel=True)


def _is_worth_it(loop: For) -> bool:
    trips = LoopView(loop).trips or 0
    return loop.parallel and trips > 1 and work([loop]) >= 2 * LEAST_WORK


class _Split:
    """A parallel loop on its way to a function.

    Parameters
    ----------
    before : the statements before it in the kernel.
    """

    def __init__(self, kernel: CKernel, name: str, loop: For, before: Sequence[Statement]) -> None:
        self.kernel, self.name = kernel, name
        self.nest, self.body = _joined(loop)
        self.trip_count = prod(trip_count(each) for each in self.nest)
        declared = {s.name: s for s in before if isinstance(s, Let | LocalVariable)}
        words = set(names_in(self.body))
        self.repeated: list[Let | LocalVariable] = []
        for statement in reversed(declared.values()):
            value = statement.value
            if statement.name in words and value is not None and "own" in names_of(value):
                self.repeated.insert(0, statement)
                words |= set(names_of(value))
        shared = [s for s in declared.values() if s.name in words and s not in self.repeated]
        self._check(shared)
        self.uses_own = "own" in words
        words.discard("own")
        self.given = [
            Parameter(a.kind, a.name) for a in kernel.arguments.values() if a.name in words
        ]
        self.given += [Parameter(_kind(s), s.name) for s in shared]

    def _check(self, shared: Sequence[Let | LocalVariable]) -> None:
        assigned = (s.target for s in nested(self.body) if isinstance(s, Assign))
        changed = {target.name for target in assigned if isinstance(target, Name)}
        assert not changed & {s.name for s in shared}, (self.name, changed)

    def call(self) -> Call:
        """The call that runs the loop; the functions are added to the kernel's own."""
        run = self.kernel.body.function(f"{self.name}_iterations", self._define_iterations)
        part = self.kernel.body.function(f"{self.name}_part", lambda name: self._unpack(name, run))
        values = tuple(Name(each.name) for each in (*self.given, *self._own))
        given = Op("&", (Struct(Record(part.name), values),)) if values else Literal(0)
        grain = max(1, LEAST_WORK * self.trip_count // max(work(self.nest[:1]), 1))
        return Call(_PARALLEL, (part, given, Literal(self.trip_count), Literal(grain)))

    @property
    def _own(self) -> list[Parameter]:
        return [Parameter(Pointer("u8"), "own")] if self.uses_own else []

    def _define_iterations(self, name: str) -> Function:
        """The function of a range of iterations."""
        statements = (*self.repeated, self._loop())
        types = KernelTypes({p.name: p.kind for p in self.given}, statements)
        body = inline_uses(statements, types)
        parameters = (*self.given, *self._own, *_RANGE)
        return Function(name, parameters, body, remark=_OF_ITERATIONS)

    def _unpack(self, name: str, run: Name) -> Function:
        """The function that the runtime library calls."""
        fields = [Parameter(unrestricted(p.kind), p.name) for p in (*self.given, *self._own)]
        given = LocalVariable(Pointer(Record(name), const=True), "given", Name("arguments"))
        passed: list[Expr] = [Member(Name("given"), each.name) for each in self.given]
        if self.uses_own:
            behind = Name("slot") * self.kernel.writer.own_bytes
            passed.append(Member(Name("given"), "own") + behind)
        passed += [Name(each.name) for each in _RANGE]
        parameters = (Parameter(Pointer("void"), "arguments"), *_RANGE, Parameter("s64", "slot"))
        body = (*((given,) if fields else ()), Call(run, tuple(passed)))
        record = tuple(fields) if fields else None
        return Function(name, parameters, body, remark=_OF_PART, record=record)

    def _loop(self) -> For:
        """The loop over a range of iterations, from which joined loops take their counters."""
        only = self.nest[0]
        if len(self.nest) == 1 and (only.start, only.step) == (0, 1):
            return replace(
                only, body=self.body, start=Name("begin"), stop=Name("end"), parallel=False
            )
        counters: list[Statement] = []
        inner = 1
        for number, loop in reversed(list(enumerate(self.nest))):
            index: Expr = Name("iteration") // inner if inner > 1 else Name("iteration")
            index = index % trip_count(loop) if number else index
            index = Group(index) * loop.step if loop.step != 1 else index
            index = index + loop.start if loop.start != 0 else index
            counters.insert(0, Let("s64", loop.name, index))
            inner *= trip_count(loop)
        simd = only.simd and len(self.nest) == 1
        return For(
            "iteration", Name("end"), (*counters, *self.body), start=Name("begin"), simd=simd
        )


_PARALLEL = FUNCTIONS["hlo_parallel"]
_RANGE = (Parameter("s64", "begin"), Parameter("s64", "end"))
# Comments in the functions, since the HLO that they compute is above the kernel, after them.
_OF_ITERATIONS = "Some iterations of a loop of the next kernel, which one thread takes."
_OF_PART = (
    "What a thread is given: the range of iterations, and the kernel's arguments in a struct."
)


def _joined(loop: For) -> tuple[list[For], tuple[Statement, ...]]:
    """A loop and those directly inside of it that can be taken together, and the body of them."""
    nest = [loop]
    while prod(trip_count(each) for each in nest) < MANY_ITERATIONS:
        inner = LoopView(nest[-1]).only_loop
        if inner is None or not inner.parallel or inner.simd or LoopView(inner).bounds is None:
            break
        nest.append(inner)
    return nest, nest[-1].body


def _kind(statement: Let | LocalVariable) -> Kind:
    """The type in which a variable is handed on."""
    kind = statement.kind
    is_array = isinstance(statement, LocalVariable) and statement.size is not None
    return Pointer(kind) if is_array and isinstance(kind, str) else kind
