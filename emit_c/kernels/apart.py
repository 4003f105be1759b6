"""Short rows side by side in lanes, whose elements lie apart and are gathered.

    for i: total = 0; for j < 10: total = total + x[10 * i + j]; y[i] = total

becomes

    for every block of 16: rows[k] = 10 * k for every k
      for k: total = 0; total = total + x[10 * block + rows[k] + 0]; ...; y[block + k] = total

Compilers take numbers apart that lie 2, 3 or 4 apart, or 8 or 16 if they need all. Of others they
load one after the other, which takes as long as to fold them one by one; but of places in an array
of their own they know no more than that, and gather what is there, all lanes at once.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from emit_c.code.loops import Assign, For, If, Let, Statement, Variable, each_side, straight, text
from emit_c.code.prelude import functions_of_numbers
from emit_c.kernels.folds import renamed, rewritten
from emit_c.kernels.parallel import turns, work
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from emit_c.kernels.body import Body

LANES = 16
# Elements of a row, at most; and rows from which on they are worth lanes.
MOST_TURNS, LEAST_ROWS = 16, 64
# Operations that are written out for a row, at most, and long functions: compilers take their time
# for each.
MOST_WORK, MOST_LONG = 600, 16
# Operations of one turn that are worth gathering for, and turns of which lanes are left over.
MUCH_WORK, PARTS = 5, 8
# How far apart numbers lie that compilers take apart themselves; and how far if none is left out.
TAKEN_APART, TAKEN_WHOLE = (1, 2, 3, 4), (8, 16)
# Operations up to which `short` leaves it to them.
MOST_TAKEN = 200
# Bytes of what is gathered.
_GATHERED = (4, 8)
_WORD = re.compile(r"[A-Za-z_]\w*")


def rows_in_lanes(body: Body, statements: Sequence[Statement]) -> list[Statement]:
    """Statements whose loops over short rows run in lanes of rows, if these have to be gathered."""
    return [made for s in statements for made in _in_lanes(body, s)]


def _in_lanes(body: Body, statement: Statement) -> Sequence[Statement]:
    if isinstance(statement, If):
        both = (tuple(rows_in_lanes(body, b)) for b in (statement.then, statement.otherwise))
        return [If(statement.condition, *both)]
    if not isinstance(statement, For):
        return [statement]
    if _has_short_rows(statement):
        rows = _Rows(body, statement)
        if rows.apart and rows.can_be_gathered():
            return rows.statements()
        return [statement]
    return [replace(statement, body=tuple(rows_in_lanes(body, statement.body)))]


def _has_short_rows(loop: For) -> bool:
    """Whether a loop over rows folds each, and does no more with it than can be written out."""
    inner = [s for s in loop.body if isinstance(s, For)]
    if not loop.parallel or not isinstance(loop.stop, int) or (loop.start, loop.step) != (0, 1):
        return False
    if not any(each.reductions for each in inner) or loop.stop < LEAST_ROWS:
        return False
    counted = all(
        isinstance(each.stop, int) and (each.start, each.step) == (0, 1) and straight(each.body)
        for each in inner
    )
    if not counted or not straight([s for s in loop.body if not isinstance(s, For)]):
        return False
    return max(map(turns, inner)) <= MOST_TURNS and _is_worth_it(inner)


def _is_worth_it(inner: Sequence[For]) -> bool:
    """Whether short loops do more than to load and to add up, which takes no longer without lanes.

    Of folds alone that many turns are written out; what else so many do is done in parts of lanes.
    """
    each = [work([replace(loop, simd=True)]) for loop in inner]
    much = any(n >= MUCH_WORK * turns(loop) for n, loop in zip(each, inner, strict=True))
    in_parts = any(turns(loop) > PARTS and not loop.reductions for loop in inner)
    long = functions_of_numbers()
    called = sum(turns(loop) * len(long & set(_WORD.findall(text([loop])))) for loop in inner)
    return (much or in_parts) and sum(each) <= MOST_WORK and called <= MOST_LONG


class _Rows:
    """A loop over short rows on its way to lanes of them.

    Attributes
    ----------
    apart : how far apart the rows of each array are that are not taken apart.
    """

    def __init__(self, body: Body, loop: For) -> None:
        self.body, self.loop = body, loop
        self.written = tuple(made for s in loop.body for made in written_out(body, s))
        self._times = re.compile(rf"\b{loop.name} \* (\d+)\b")
        factors = {int(n) for n in self._times.findall(text(self.written))}
        inner = [replace(s, simd=True) for s in loop.body if isinstance(s, For)]
        whole = set(map(turns, inner)).intersection(TAKEN_WHOLE)
        left = whole if work(inner) <= MOST_TAKEN else ()
        self.apart = sorted(factors.difference(TAKEN_APART, left))

    def can_be_gathered(self) -> bool:
        """Whether there are instructions for what is loaded and stored that lies apart."""
        every = list(each_side(self.written))
        kinds = {s.kind for s in every if isinstance(s, Let | Variable)}
        loaded = {s.kind for s in every if isinstance(s, Let) and self._lies_apart(s.value)}
        stored = any(isinstance(s, Assign) and self._lies_apart(s.target) for s in every)
        known = (ELEMENT_TYPES.get(kind) for kind in (kinds if stored else loaded))
        return all(k is not None and k.bytes in _GATHERED and not k.is_complex for k in known)

    def _lies_apart(self, place: str) -> bool:
        return any(int(n) in self.apart for n in self._times.findall(place))

    def statements(self) -> Sequence[Statement]:
        """The loop over blocks of rows, and one over those that are left."""
        loop, body = self.loop, self.body
        assert isinstance(loop.stop, int)
        whole = loop.stop - loop.stop % LANES
        block, lane = body.name(f"{loop.name}_block"), body.name("k")
        rows = {n: (body.name("rows"), body.name("row")) for n in self.apart}
        inside: list[Statement] = [Let("s64", loop.name, f"{block} + {lane}")]
        for array, row in rows.values():
            inside.append(Let("s32", row, f"{array}[{lane}]"))

        def place(match: re.Match[str]) -> str:
            known = rows.get(int(match[1]))
            return f"({block} * {match[1]} + {known[1]})" if known else match[0]

        inside += [rewritten(s, lambda t: self._times.sub(place, t)) for s in self.written]
        begun = tuple(
            Assign(f"{array}[{lane}]", f"(s32){lane} * {n}") for n, (array, _) in rows.items()
        )
        turn = (
            *(Variable("s32", array, size=LANES) for array, _ in rows.values()),
            For(lane, LANES, begun, simd=True),
            For(lane, LANES, tuple(inside), simd=True),
        )
        blocks = For(block, whole, turn, step=LANES, parallel=True)
        return (blocks, replace(loop, start=whole)) if whole < loop.stop else (blocks,)


def written_out(body: Body, statement: Statement) -> Iterator[Statement]:
    """A loop's turns one after the other, each with names of its own; others as they are."""
    if not isinstance(statement, For):
        yield statement
        return
    for turn in range(turns(statement)):
        names = {statement.name: str(turn)}
        for each in statement.body:
            made = renamed(each, names)
            if isinstance(made, Let | Variable):
                names[made.name] = body.name(made.name)
                made = replace(made, name=names[made.name])
            yield made
