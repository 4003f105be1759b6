"""Numbers of few bits that lanes look up, loaded by a loop of their own, one after the other.

    for j < 9000: y[j] = table[max(x[j], 0)] + 1

becomes, for a table of bytes,

    for every block of 256:
      for k in lanes: places[k] = max(x[block + k], 0)
      for k: looked_up[k] = table[places[k]]
      for k in lanes: y[block + k] = looked_up[k] + 1

Processors gather numbers of 32 and 64 bits, and none of fewer: a loop that looks up a byte would
run one iteration after the other, with all that it computes besides. Four are loaded before the
first of them is stored. Without this, 65,505 lookups in a table of 1000 bytes take 3 times as long.

Lookups that a choice may leave out stay, as what they load need not be there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Index, Literal, Load, Name, Op, indexed, total_of
from codegen.kinds import element_of, number_of
from codegen.loops.narrow_indices import MOST
from codegen.loops.work import trip_count
from codegen.loops.written_out import copied
from codegen.statements import (
    Assign,
    For,
    Let,
    LocalVariable,
    Statement,
    base,
    each_side,
    in_lanes,
    live,
    nested,
    rewritten,
    straight,
    values,
)
from codegen.walk import children, names_of, rebuilt, walk
from emit_c.kernels.loads import certain_loads
from hlo.types.element_type import ELEMENT_TYPES
from optimizer import machine
from optimizer.analysis.indexing import Counter, Sum

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from emit_c.kernels.kernel import CKernel

    _Made = Iterator[Statement]


def split_lookups(kernel: CKernel, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops in lanes look up no numbers that no instruction gathers."""
    tables = {
        each.name: kind
        for each in kernel.arguments.values()
        if (kind := number_of(element_of(each.kind))) in ELEMENT_TYPES
        if ELEMENT_TYPES[kind].bytes < min(machine.GATHERED_BYTES) and each.size < MOST
    }

    def change(loop: For) -> Sequence[Statement] | None:
        counted = isinstance(loop.start, int) and isinstance(loop.stop, int) and loop.step == 1
        return _split(kernel.body, loop, tables) if counted and straight(loop.body) else None

    return in_lanes(statements, change) if tables else tuple(statements)


def _split(body: Body, loop: For, tables: Mapping[str, str]) -> Sequence[Statement]:
    lookups = _Lookups(body, loop, tables)
    if not lookups.found or trip_count(loop) < machine.LANES:
        return [loop]
    assert isinstance(loop.start, int)
    assert isinstance(loop.stop, int)
    size, count = machine.BLOCK_OF_LOOKUPS, trip_count(loop)
    if count <= size:
        return list(lookups.block(loop.start, count))
    block, whole = body.name(f"{loop.name}_block"), loop.stop - count % size
    inside = tuple(lookups.block(Name(block), size))
    blocks = replace(
        loop, name=block, stop=whole, step=size, body=inside, simd=False, reductions=()
    )
    return [blocks, *(lookups.block(whole, count % size) if count % size else ())]


class _Lookups:
    """A loop in lanes, and its lookups.

    Attributes
    ----------
    tables : the types of arrays of few bits, by name.
    found : the lookups whose places depend on no other lookup.
    varying, irregular : names of values that differ from lane to lane, and of those of them that
        are no sums of multiples of the counter.
    late : names of values that are known after the lookups only.
    """

    def __init__(self, body: Body, loop: For, tables: Mapping[str, str]) -> None:
        self.body, self.loop, self.tables = body, loop, tables
        every = list(each_side(loop.body))
        self.written = {base(s.target) for s in every if isinstance(s, Assign)}
        self.varying, self.irregular, self.late = {loop.name}, set[str](), {*self.written}
        self.found: dict[Load, None] = {}
        for statement in loop.body:
            if not isinstance(statement, Let | Assign):
                self.late |= {s.name for s in nested([statement]) if isinstance(s, _DECLARED)}
                continue
            looked_up = [
                each
                for value in values(statement)
                for each in certain_loads(value)
                if self._is_one(each)
            ]
            self.found |= dict.fromkeys(looked_up)
            if isinstance(statement, Let):
                self._declare(statement, is_late=bool(looked_up))

    def _declare(self, let: Let, *, is_late: bool) -> None:
        names = set(names_of(let.value))
        if is_late or not self.late.isdisjoint(names):
            self.late.add(let.name)
        if not self.varying.isdisjoint(names):
            self.varying.add(let.name)
        if self._is_irregular(let.value):
            self.irregular.add(let.name)

    def _is_one(self, element: Load) -> bool:
        """Whether an element is looked up, and lanes cannot gather it."""
        if not isinstance(element.pointer, Name) or element.pointer.name not in self.tables:
            return False
        return self.late.isdisjoint(names_of(element)) and self._is_irregular(element.index)

    def _is_irregular(self, index: Expr) -> bool:
        """Whether it is no sum of multiples of the counter and of values that all lanes share."""
        if not self.irregular.isdisjoint(names_of(index)):
            return True
        return any(
            not self.varying.isdisjoint(names_of(each))
            for each in walk(index)
            if not _is_linear(each)
        )

    def block(self, start: Expr | int, count: int) -> _Made:
        """Some iterations of the loop, from one on."""
        lane = self.body.name("k")
        number = Let("s64", self.loop.name, Name(lane) + start if start else Name(lane))
        here: dict[Expr, Load] = {}
        first: list[Statement] = [number, *self._needed()]
        loops: list[Statement] = []
        for element in self.found:
            places, looked_up = (Name(self.body.name(word)) for word in ("places", "looked_up"))
            yield LocalVariable("s32", places.name, None, count)
            yield LocalVariable(self.tables[base(element)], looked_up.name, None, count)
            _, differing = _parts(element.index, self.varying)
            first.append(Assign(Load(places, Name(lane)), total_of(differing, "+")))
            here[element] = Load(looked_up, Name(lane))
            loops += self._one_by_one(element, places, looked_up, count)
        yield For(lane, count, tuple(copied(self.body, first, {})), simd=True)
        yield from loops

        def change(tree: Expr) -> Expr:
            return here[tree] if tree in here else rebuilt(tree, change)

        last = live([number, *(rewritten(s, change) for s in self.loop.body)])
        inside = tuple(copied(self.body, last, {}))
        rest = replace(self.loop, name=lane, start=0, stop=count, body=inside, parallel=False)
        yield from _split(self.body, rest, self.tables)

    def _needed(self) -> list[Let]:
        """The values of which the places are computed."""
        needed = {name for each in self.found for name in names_of(each.index)}
        lets: list[Let] = []
        for statement in reversed(self.loop.body):
            if isinstance(statement, Let) and statement.name in needed:
                lets.insert(0, statement)
                needed |= set(names_of(statement.value))
        return lets

    def _one_by_one(self, element: Load, places: Name, looked_up: Name, count: int) -> _Made:
        """The loop that looks up so many numbers, several before it stores them."""
        at_once, lane = machine.LOOKED_UP_AT_ONCE, Name(self.body.name("k"))
        whole = count // at_once * at_once
        shared, _ = _parts(element.index, self.varying)

        def some(numbers: Sequence[Expr]) -> _Made:
            found = [Name(self.body.name("found")) for _ in numbers]
            kind = self.tables[base(element)]
            for name, number in zip(found, numbers, strict=True):
                place = total_of((*shared, Load(places, number)), "+")
                yield Let(kind, name.name, Load(element.pointer, place))
            for name, number in zip(found, numbers, strict=True):
                yield Assign(Load(looked_up, number), name)

        if whole:
            numbers = [lane + k if k else lane for k in range(at_once)]
            yield For(lane.name, whole, tuple(some(numbers)), step=at_once)
        yield from some([Literal(k) for k in range(whole, count)])


_DECLARED = (Let, LocalVariable)


def _is_linear(tree: Expr) -> bool:
    """Whether an operation makes a sum, a difference or a product of a number."""
    match tree:
        case Index(total):
            return all(isinstance(atom, Counter) for atom, _ in total.terms)
        case Op("+" | "-" | "*"):
            return True
        case _:
            return not children(tree)


def _parts(index: Expr, varying: set[str]) -> tuple[list[Expr], list[Expr]]:
    """The terms of an index that all lanes share, and the others."""
    match index:
        case Op("+", args):
            parts = [_parts(each, varying) for each in args]
            return [t for p, _ in parts for t in p], [t for _, p in parts for t in p]
        case Index(total):
            others = tuple(t for t in total.terms if not varying.isdisjoint(Sum(0, (t,)).names))
            shared = Sum(total.constant, tuple(t for t in total.terms if t not in others))
            return [indexed(shared)] if shared != Sum(0) else [], [indexed(Sum(0, others))]
        case _:
            return ([index], []) if varying.isdisjoint(names_of(index)) else ([], [index])
