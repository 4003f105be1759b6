"""Roundings to f16 in lanes, made by loops of their own with the processor's instruction.

    for i < 90000: y[i] = store_f16(narrow_f16(load_f16(x[i]) * load_f16(z[i])) + load_f16(x[i]))

becomes

    for every block of 256:
      load_each_f16(xs, x + block, 256); load_each_f16(zs, z + block, 256)
      for k in lanes: products[k] = xs[k] * zs[k]
      narrow_each_f16(products, products, 256)
      for k in lanes: sums[k] = products[k] + xs[k]
      store_each_f16(y + block, sums, 256)

gcc 12 has no vectors of the instruction: in lanes, a rounding is 20 operations on bits. Numbers of
a block wait in the first-level cache, which takes a fifth of that. (Compilers call this fission.)
Without this, f32 take 2 times as long to become f16, outer products and sums of products 2.5 times,
and rows of 333 that are normalized 1.5 times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.expressions import Apply, Index, Literal, Load, Name, indexed
from codegen.loops.work import FUNCTION_WORK
from codegen.schedule.divide import divide, fresh
from codegen.schedule.fission import computed, without
from codegen.schedule.loop import LoopView
from codegen.statements import (
    Assign,
    Call,
    For,
    Let,
    LocalVariable,
    base,
    callees_in,
    in_lanes,
    values,
)
from codegen.walk import names_of
from emit_c.code.prelude import functions_of_numbers
from emit_c.kernels.split_lookups import BLOCK_OF_NUMBERS
from hlo.support import machine
from hlo.types.element_type import F16
from optimizer.analysis.indexing import Sum, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from codegen.statements import Statement

FEWEST_ROUNDED = 3 * machine.LANES
"""Measured: iterations of a loop in lanes from which on loops of their own round its numbers to
f16. Rows of 33 would take up to 1.2 times as long, and rows of 50 take 0.8 to 1."""

_LOAD, _STORE, _NARROW = (FUNCTIONS[verb, F16] for verb in ("load", "store", "narrow"))


def split_roundings(body: Body, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops in lanes round no number to f16."""

    def change(loop: For) -> Sequence[Statement] | None:
        view = LoopView(loop)
        long_enough = view.is_counted and (view.trips or 0) >= FEWEST_ROUNDED
        if loop.reductions or not long_enough or not _is_plain(view):
            return None
        roundings = _Roundings(body, loop)
        if not roundings.are_worth_it():
            return None
        return divide(body, loop, BLOCK_OF_NUMBERS, roundings.in_block)

    return in_lanes(statements, change) if _rounds(statements) else tuple(statements)


def _rounds(statements: Sequence[Statement]) -> bool:
    return not {_NARROW, _STORE}.isdisjoint(callees_in(statements))


def _is_plain(loop: LoopView) -> bool:
    """Whether iterations store elements, each before any other could read it."""
    written: dict[str, set[Expr]] = {}
    for s in loop.body:
        if isinstance(s, Assign) and isinstance(s.target, Load):
            written.setdefault(base(s.target), set()).add(s.target)
        elif not isinstance(s, Let) or not written.keys().isdisjoint(names_of(s.value)):
            return False
    return all(load in written.get(base(load), {load}) for load in loop.loads)


@dataclass(frozen=True, slots=True)
class _Rounding:
    """A statement that rounds a number.

    Attributes
    ----------
    number : the operand of the rounding.
    stage : the length of the longest chain of roundings on which the operand depends.
    array : the array that holds the numbers of a block.
    """

    statement: Let | Assign
    number: Expr
    stage: int
    array: Name


class _Roundings:
    """A loop in lanes, and its roundings.

    Attributes
    ----------
    stages : the longest chain of roundings before each value of an iteration, by its name.
    bits : the load of each value that is the bits of an f16, by its name.
    loaded : the load of each f16 that becomes an f32, and the array of a block of such numbers, by
        the name of the value.
    """

    def __init__(self, body: Body, loop: For) -> None:
        self.body, self.loop = body, loop
        self.stages: dict[str, int] = {}
        self.found: list[_Rounding] = []
        self.bits: dict[str, Load] = {}
        self.loaded: dict[str, tuple[Load, Name]] = {}
        for s in loop.body:
            assert isinstance(s, Let | Assign)
            stage = max((self.stages.get(n, 0) for v in values(s) for n in names_of(v)), default=0)
            number = self._rounded(s)
            if number is not None:
                self.found.append(_Rounding(s, number, stage, Name(body.name("rounded"))))
            if isinstance(s, Let):
                self._see(s)
                self.stages[s.name] = stage + (number is not None)

    def _see(self, let: Let) -> None:
        """Record a load of f16 whose lanes lie side by side, or its conversion to f32."""
        match let.value:
            case Load() as element if self._place(element) is not None:
                self.bits[let.name] = element
            case Apply(function, (Name(bits),)) if function is _LOAD and bits in self.bits:
                self.loaded[let.name] = self.bits[bits], Name(self.body.name("widened"))
            case _:
                pass

    def _place(self, element: Load) -> Sum | None:
        """The place of an element whose neighbours in memory are in neighbouring lanes."""
        match element:
            case Load(Name(), Index(place)):
                pass
            case Load(Name(), Name(name)):
                place = unknown(name, 0, 1 << 62)
            case _:
                return None
        factors = dict(place.factors)
        plain = len(place.factors) == len(place.terms) and self.stages.keys().isdisjoint(factors)
        return place if plain and factors.get(self.loop.name) == 1 else None

    def _rounded(self, statement: Let | Assign) -> Expr | None:
        """The number that a statement rounds for a value, or for neighbours in memory."""
        match statement:
            case Let(_, _, Apply(function, (number,))) if function is _NARROW:
                return number
            case Assign(Load() as element, Apply(function, (number,))) if function is _STORE:
                return number if self._place(element) is not None else None
            case _:
                return None

    def are_worth_it(self) -> bool:
        """Whether there are roundings, and no long function is computed again after one.

        A loop that reads what it stores is left as it is: its sums stay in registers.
        """
        others = [s for s in self.loop.body if all(s is not r.statement for r in self.found)]
        written = {base(s.target) for s in others if isinstance(s, Assign)}
        read = {name for s in self.loop.body for v in values(s) for name in names_of(v)}
        is_long = any(f.name in functions_of_numbers() for f in callees_in(others))
        is_repeated = is_long and any(r.stage for r in self.found)
        return bool(self.found) and written.isdisjoint(read) and not is_repeated

    def in_block(self, block: For, start: Expr | int) -> Iterator[Statement]:
        """The statements for a block of iterations: each stage of roundings, then the rest."""
        count, lane = LoopView(block).trips or 0, Name(block.name)
        room = -(-count // machine.LANES) * machine.LANES
        for element, array in self.loaded.values():
            yield LocalVariable("f32", array.name, size=room)
            yield _call("load_each", [array, self._first(element, start)], count)
        known = {let: Load(array, lane) for let, (_, array) in self.loaded.items()}
        for stage in range(max(rounding.stage for rounding in self.found) + 1):
            here = [rounding for rounding in self.found if rounding.stage == stage]
            yield from (LocalVariable("f32", rounding.array.name, size=room) for rounding in here)
            numbers = {Load(rounding.array, lane): rounding.number for rounding in here}
            yield fresh(self.body, computed(_knowing(block, known), numbers))
            for rounding in here:
                if isinstance(rounding.statement, Let):
                    yield _call("narrow_each", [rounding.array, rounding.array], count)
                    known[rounding.statement.name] = Load(rounding.array, lane)
        stores = [
            rounding.statement for rounding in self.found if isinstance(rounding.statement, Assign)
        ]
        rest = without(_knowing(block, known), *stores)
        if any(isinstance(s, Assign) for s in rest.body):
            yield fresh(self.body, rest)
        for rounding in self.found:
            if isinstance(rounding.statement, Assign) and isinstance(
                rounding.statement.target, Load
            ):
                first = self._first(rounding.statement.target, start)
                yield _call("store_each", [first, rounding.array], count)

    def _first(self, element: Load, start: Expr | int) -> Expr:
        """The address of the element of a block's first lane."""
        place = self._place(element)
        assert place is not None
        begin = start.name if isinstance(start, Name) else start
        assert isinstance(begin, str | int)
        first = place.substituted({self.loop.name: begin})
        return element.pointer if first == Sum(0) else element.pointer + indexed(first)


def _knowing(loop: For, values: dict[str, Load]) -> For:
    """A loop some of whose values are loaded."""
    return replace(
        loop,
        body=tuple(
            replace(s, value=values[s.name]) if isinstance(s, Let) and s.name in values else s
            for s in loop.body
        ),
    )


def _call(stem: str, arrays: Sequence[Expr], count: int) -> Call:
    """The call that rounds so many numbers."""
    return Call(FUNCTIONS[stem, F16], (*arrays, Literal(count)), FUNCTION_WORK * count)
