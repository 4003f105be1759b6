"""Folds in the lanes of a vector.

    for j: total = total + x[j]

becomes, where a vector has 16 lanes,

    lanes[k] = -0 for every k
    for every block of 16: for k: lanes[k] = lanes[k] + x[16 * block + k]
    total = total + the sum of all lanes

The last block overlaps the one before it. Of 50 numbers, 2 are left after 3 blocks; so the last 16
numbers are loaded, and 14 lanes keep their sums:
`for k: lanes[k] = k >= 14 ? lanes[k] + x[34 + k] : lanes[k]`.

OpenMP's `reduction` means the same. But gcc then goes through the lanes one by one, before and
after the loop, which takes as long as to fold a few hundred numbers. Here one half of the lanes is
folded into the other half, until one lane is left. Without this, the maximum of 9,362 rows of seven
bytes takes 2.5 times as long, softmax 1.2 times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from codegen.expressions import Choose, Load, Name, Op, as_expr
from codegen.kinds import number_of
from codegen.loops.work import trip_count
from codegen.schedule.divide import divide
from codegen.schedule.loop import LoopView
from codegen.schedule.obligations import Part, SameIterations, granted
from codegen.schedule.order import vectorize
from codegen.schedule.rfactor import PartialFold, folding_loop, neutral_elements, rfactor
from codegen.schedule.trace import applied, attempt
from codegen.statements import (
    Assign,
    Call,
    For,
    Forever,
    If,
    Let,
    LocalVariable,
    Statement,
    base,
    replaced,
)
from emit_c.kernels.cascade_sums import LONG_SUM
from emit_c.kernels.fold_lanes import NAMES, folding_lanes
from emit_c.kernels.peel_loops import Peeled, peeled
from emit_c.kernels.peephole.outline_math import CALLS_IN_A_MICROSECOND
from hlo.support import machine
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from codegen.schedule.types import KernelTypes

PACKED = 6 * machine.WIDEST_VECTOR
"""Measured: comparisons of a row from which on it is faster to pack their results into bytes. If
they always are, assignment by auction takes 1.14 times as long."""
SUMS_OF_A_LOOP = 8
"""Measured: vectors that the sums of a loop in lanes may fill, a quarter or half of the registers.
With 2, clusters by density take 1.3 times as long; no benchmark has more than 8."""


def vectorize_reductions(
    body: Body, statements: Sequence[Statement], types: KernelTypes, times: int = 1
) -> tuple[Statement, ...]:
    """Statements whose folds are done in lanes.

    Parameters
    ----------
    times : how often the statements run.
    """
    return tuple(made for s in statements for made in _in_lanes(body, s, types, times))


def _in_lanes(
    body: Body, statement: Statement, types: KernelTypes, times: int
) -> Sequence[Statement]:
    match statement:
        case For() if (loop := folding_loop(statement)).reductions:
            fold = _fold_of(body, loop, types, again=times > 1 or loop is not statement)
            called = times <= CALLS_IN_A_MICROSECOND
            made = fold and attempt(lambda: fold.statements(body, statement, called=called))
            known_to_openmp = all(op != "first" for op, _ in loop.reductions)
            return made or (statement if known_to_openmp else _one_by_one(statement),)
        case For():
            inside = vectorize_reductions(
                body, statement.body, types, times * trip_count(statement)
            )
            return (statement.with_body(inside),)
        case Forever():
            return (Forever(vectorize_reductions(body, statement.body, types, times)),)
        case If(_, then, otherwise):
            both = (vectorize_reductions(body, block, types, times) for block in (then, otherwise))
            return (If(statement.condition, *both),)
        case _:
            return (statement,)


def _loaded(statements: Sequence[Statement]) -> Iterator[str]:
    """The types of elements that are loaded; in lanes, those of both sides of a choice."""
    for statement in statements:
        if isinstance(statement, If):
            yield from _loaded((*statement.then, *statement.otherwise))
        elif isinstance(statement, Let) and isinstance(statement.value, Load):
            yield number_of(statement.kind)


def _one_by_one(loop: For) -> For:
    """Loops around one another, of which none runs in lanes."""
    inner = tuple(_one_by_one(s) if isinstance(s, For) else s for s in loop.body)
    return replace(loop, simd=False, reductions=(), body=inner)


def _fold_of(body: Body, loop: For, types: KernelTypes, *, again: bool) -> _LaneFold | None:
    """The SIMD reduction of a loop, perhaps one that runs again and again; None if it has none."""
    kinds = {name: types.of_number(name) for _, name in loop.reductions}
    is_counted = isinstance(loop.stop, int) and loop.start == 0
    is_block = isinstance(loop.stop, Name) and isinstance(loop.start, Name)
    is_block &= trip_count(loop) > LONG_SUM
    starts = attempt(lambda: neutral_elements(loop.reductions, kinds))
    if not (is_counted or is_block) or loop.step != 1 or starts is None:
        return None
    # The index of an extreme is that of the first one, in the order of the iterations.
    is_in_turn = any(op == "first" for op, _ in loop.reductions)
    ends = peeled(body, loop) if again and is_counted and not is_in_turn else Peeled((), loop, ())
    count = trip_count(ends.loop)
    # A block has as many lanes as one vector has of the narrowest type, even if it is only loaded;
    # a wider type then takes several vectors. With fewer lanes, compilers would choose shorter
    # vectors for all types.
    loaded = {ELEMENT_TYPES[k].bytes for k in _loaded(ends.loop.body) if k in ELEMENT_TYPES}
    held = {n: _kind_of_lanes(kinds[n], loaded, count) for _, n in loop.reductions}
    sizes = {ELEMENT_TYPES[kind].bytes for kind in held.values()}
    lanes = min(
        machine.WIDEST_VECTOR // min(sizes | loaded),
        SUMS_OF_A_LOOP * machine.WIDEST_VECTOR // max(sizes),
    )
    while lanes > count:
        lanes //= 2
    if lanes < machine.HALF_VECTOR:
        return None
    arrays = {name: body.name("lanes") for _, name in loop.reductions}
    return _LaneFold(loop, ends, lanes, types, arrays, held)


def _kind_of_lanes(kind: str, loaded: Collection[int], iterations: int) -> str:
    """The type of the lanes that fold values of a type, where numbers of some sizes are loaded.

    A comparison of wide numbers gives a mask as wide as they are. To become a byte of a pred, it
    has to be packed, which costs more than it saves in a short row.
    """
    is_wide = min(loaded, default=1) >= ELEMENT_TYPES["s32"].bytes
    return "s32" if kind == "pred" and is_wide and iterations < PACKED else kind


def _can_run_again(loop: For) -> bool:
    """Whether iterations that run twice store the same numbers twice: they read none of them.

    Arrays that share memory have one name in a kernel, so names tell.
    """
    view = LoopView(loop)
    own = view.variables | {name for _, name in loop.reductions}
    return view.is_straight and (view.written - own).isdisjoint(view.read)


@dataclass(frozen=True, slots=True)
class _LaneFold:
    """A loop that folds into some variables.

    Attributes
    ----------
    ends : the loop without its first and last iterations, and these.
    lanes : the number of lanes of a block.
    arrays, kinds : of the lanes into which each variable is split, and their types.
    """

    loop: For
    ends: Peeled
    lanes: int
    types: KernelTypes
    arrays: Mapping[str, str]
    kinds: Mapping[str, str]

    def statements(self, body: Body, nest: For, *, called: bool) -> list[Statement]:
        """The whole nest of loops around the loop, with the statements before and after it.

        Parameters
        ----------
        called : the function that folds the lanes is called, not inlined.
        """
        folds: list[PartialFold] = []

        def in_lanes(block: For, _: Expr | int) -> list[For]:
            folds.append(self._folding(block, Name(block.name)))
            return [vectorize(folds[-1].loop)]

        def left_over(rest: For) -> list[For]:
            if isinstance(rest.start, int) and _can_run_again(rest):
                return [self._last_block(rest, folds[0].loop)]
            return [self._folding(rest, Name(rest.name) - rest.start).loop]

        blocks = divide(body, self.ends.loop, self.lanes, in_lanes, rest=left_over)
        inside = (*self.ends.before, *blocks, *self.ends.after)
        fold, lane = folds[0], folds[0].loop.name
        begun = (
            Assign(Load(Name(a), Name(lane)), fold.starts[name]) for name, a in self.arrays.items()
        )
        return [
            *(LocalVariable(self.kinds[n], a, size=self.lanes) for n, a in self.arrays.items()),
            For(lane, self.lanes, tuple(begun), simd=True),
            *replaced([nest], lambda s: inside if s is self.loop else None),
            *self._together(body, fold, called=called),
        ]

    def _folding(self, loop: For, lane: Expr) -> PartialFold:
        """The loop that folds into one of the lanes each time."""
        kinds = {name: self.types.of_number(name) for name in self.arrays}
        return rfactor(loop, kinds, {n: Load(Name(a), lane) for n, a in self.arrays.items()})

    def _last_block(self, rest: For, block: For) -> For:
        """The loop over the last whole vector, in which the last lanes fold what is left over."""
        assert isinstance(rest.start, int)
        assert isinstance(rest.stop, int)
        arrays, lane = set(self.arrays.values()), Name(block.name)
        is_left = Op(">=", (lane, as_expr(self.lanes - (rest.stop - rest.start))))

        def chosen(statement: Statement) -> Statement:
            match statement:
                case If(condition, then, otherwise):
                    return If(condition, tuple(map(chosen, then)), tuple(map(chosen, otherwise)))
                case Assign(target, value) if base(target) in arrays:
                    return Assign(target, Choose(is_left, value, target))
                case _:
                    return statement

        first = rest.stop - self.lanes
        number = Let("s64", rest.name, lane + first)
        made = replace(block, body=(number, *map(chosen, block.body[1:])))
        inverse = {lane.name: Name(rest.name) - first}
        granted(
            SameIterations((rest,), (Part((made,), {rest.name: number.value}, inverse, is_left),))
        )
        reason = "the first lanes, which do iterations again, store the same and fold nothing"
        applied(f"overlap by {self.lanes}, under a mask", reason, rest, [made])
        return made

    def _together(self, body: Body, fold: PartialFold, *, called: bool) -> Iterator[Statement]:
        """Fold the lanes into the variables; the index of an extreme together with the extreme."""
        wholes = {name: Name(name) for name in self.arrays}
        firsts = {name: Load(Name(array), as_expr(0)) for name, array in self.arrays.items()}
        groups: list[list[tuple[str, str]]] = []
        for op, name in fold.folds:
            if op == "first":
                groups[-1].append((op, name))
            else:
                groups.append([(op, name)])
        for group in groups:
            wanted = f"{NAMES[group[0][0]]}_of_lanes"
            folds = [(op, self.kinds[name]) for op, name in group]
            define = partial(folding_lanes, folds=folds, lanes=self.lanes, is_inline=not called)
            function = body.function(wanted, define)
            yield Call(function, tuple(Name(self.arrays[name]) for _, name in group))
            yield from replace(fold, folds=group).joined(wholes, firsts)
