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

from typing import TYPE_CHECKING

from codegen.expressions import Index, Load, Name, Op, indexed, total_of
from codegen.kinds import element_of, number_of
from codegen.loops.narrow_indices import MOST
from codegen.schedule.divide import divide, fresh
from codegen.schedule.fission import computed, reading
from codegen.schedule.loop import LoopView, certain_loads
from codegen.schedule.trace import applied
from codegen.schedule.unroll_and_jam import unroll_and_jam
from codegen.statements import Assign, For, Let, LocalVariable, Statement, base, in_lanes, values
from codegen.walk import children, names_of, walk
from hlo.support import machine
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import Counter, Sum

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from emit_c.kernels.kernel import CKernel

BLOCK_OF_NUMBERS, LOOKED_UP_AT_ONCE = 256, 4
"""Measured: numbers of few bits that wait in the cache between two loops in lanes, and how many of
those that are looked up are loaded before the first is stored. With 64, lookups in tables of bytes
take 1.2 times as long; if each is stored at once, 1.3 times."""


def split_lookups(kernel: CKernel, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops in lanes look up no numbers that no instruction gathers."""
    tables = {
        each.name: kind
        for each in kernel.arguments.values()
        if (kind := number_of(element_of(each.kind))) in ELEMENT_TYPES
        if ELEMENT_TYPES[kind].bytes < min(machine.GATHERED_BYTES) and each.size < MOST
    }

    def change(loop: For) -> Sequence[Statement] | None:
        view = LoopView(loop)
        return _split(kernel.body, loop, tables) if view.is_counted and view.is_straight else None

    return in_lanes(statements, change) if tables else tuple(statements)


def _split(body: Body, loop: For, tables: Mapping[str, str]) -> Sequence[Statement]:
    view = LoopView(loop)
    lookups = list(dict.fromkeys(_lookups(view, tables)))
    if not lookups or (view.trips or 0) < machine.LANES:
        return [loop]

    def inside(block: For, _: Expr | int) -> Iterator[Statement]:
        lane, count = Name(block.name), LoopView(block).trips or 0
        places: dict[Load, Expr] = {}
        known: dict[Expr, Load] = {}
        one_by_one: list[For] = []
        for each in lookups:
            place, looked_up, k = (Name(body.name(word)) for word in ("places", "looked_up", "k"))
            yield LocalVariable("s32", place.name, None, count)
            yield LocalVariable(tables[base(each)], looked_up.name, None, count)
            shared, differing = _parts(each.index, view.varying)
            places[Load(place, lane)] = total_of(differing, "+")
            known[each] = Load(looked_up, lane)
            found = Name("found")
            element = Load(each.pointer, total_of((*shared, Load(place, k)), "+"))
            load = Let(tables[base(each)], found.name, element)
            one_by_one.append(For(k.name, count, (load, Assign(Load(looked_up, k), found))))
        ahead = computed(block, places)
        why = "the second half reads what these find where the first half says"
        applied("fission, loops between the halves", why, block, one_by_one)
        loops = [s for each in one_by_one for s in unroll_and_jam(body, each, LOOKED_UP_AT_ONCE)]
        yield fresh(body, ahead)
        yield from loops
        yield from _split(body, fresh(body, reading(block, known)), tables)

    return divide(body, loop, BLOCK_OF_NUMBERS, inside)


def _lookups(loop: LoopView, tables: Mapping[str, str]) -> Iterator[Load]:
    """The loads of numbers of few bits that no lanes gather, of places that depend on no other."""
    # Values that are known after the lookups only, and those that are no multiple of the counter.
    late, irregular = {*loop.written, *loop.variables}, set[str]()

    def is_irregular(index: Expr) -> bool:
        if not irregular.isdisjoint(names_of(index)):
            return True
        others = (each for each in walk(index) if not _is_linear(each))
        return any(not loop.varying.isdisjoint(names_of(each)) for each in others)

    for s in loop.body:
        if not isinstance(s, Let | Assign):
            late |= LoopView(For("", 0, (s,))).declared
            continue
        loads = (each for value in values(s) for each in certain_loads(value))
        found = [
            each
            for each in loads
            if isinstance(each.pointer, Name) and each.pointer.name in tables
            if late.isdisjoint(names_of(each)) and is_irregular(each.index)
        ]
        yield from found
        if isinstance(s, Let):
            if found or not late.isdisjoint(names_of(s.value)):
                late.add(s.name)
            if is_irregular(s.value):
                irregular.add(s.name)


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
