"""Rfactor: a fold becomes folds into parts of a result, and the fold of these parts.

    for i < 90: total = total + x[i]

becomes, with one part,

    part = -0
    for i < 90: part = part + x[i]
    total = total + part

A schedule has a part in each block, lane or thread: it puts loops around these lines, which say
what a part begins with, which loop folds into it, and how it joins the result. That the numbers may
be folded in any order, the author of the loop has said (see `For.reductions`). (Halide: `rfactor`;
MLIR: `split_reduction`; tinygrad: `GROUP`.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codegen.elements.folds import all_joined, neutral
from codegen.expressions import Group, Load, Name, as_expr
from codegen.printer import shown
from codegen.schedule.legality import (
    IllegalError,
    expect_count,
    expect_only_folded,
    expect_own_elements,
)
from codegen.schedule.loop import LoopView
from codegen.schedule.obligations import AnyOrder, Part, SameIterations, granted
from codegen.schedule.trace import applied
from codegen.statements import For, LocalVariable, changed_in, renamed
from codegen.walk import names_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from codegen.statements import Assign, Statement


@dataclass(frozen=True, slots=True)
class PartialFold:
    """A fold into parts.

    Attributes
    ----------
    folds : the operation and the variable of each fold.
    starts : the value that a part begins with, by variable: its operation's neutral element.
    loop : folds into the parts.
    """

    folds: Sequence[tuple[str, str]]
    starts: Mapping[str, Expr]
    loop: For

    def joined(self, wholes: Mapping[str, Expr], parts: Mapping[str, Expr]) -> tuple[Assign, ...]:
        """The statements that fold parts into results, both by the variables of the folds."""
        return all_joined([(op, wholes[name], parts[name]) for op, name in self.folds])


def rfactor(loop: For, kinds: Mapping[str, str], parts: Mapping[str, Expr]) -> PartialFold:
    """A loop, or a perfect nest, that folds into parts.

    Parameters
    ----------
    loop : folds, or is around the loop that folds.
    kinds : the types of the variables that are folded into, of arrays those of their elements.
    parts : variables, arrays or elements, by the variables whose parts they are.

    Raises
    ------
    IllegalError
        if an operation has no neutral element, or if a result is read before its end.
    """
    folds = folding_loop(loop).reductions
    starts = neutral_elements(folds, kinds)
    reason = expect_only_folded(LoopView(loop), starts)
    has_variables = all(isinstance(part, Name) for part in parts.values())
    partial = renamed(loop if has_variables else _into_elements(loop, parts), parts)
    assert isinstance(partial, For)
    granted(*(AnyOrder(op, kinds[name], starts[name]) for op, name in folds))
    ends = (
        f"{shown(parts[name])} begins with {shown(start)}, and joins {name} at the end"
        for name, start in starts.items()
    )
    applied("rfactor", f"{reason}: {'; '.join(ends)}", loop, [partial])
    return PartialFold(folds, starts, partial)


def _into_elements(loop: For, parts: Mapping[str, Expr]) -> For:
    """A nest whose loops fold into no variable; in lanes are those whose iterations do not meet."""
    elements = [part for part in parts.values() if isinstance(part, Load)]
    inside = (_into_elements(s, parts) if isinstance(s, For) else s for s in loop.body)
    partial = replace(loop, body=tuple(inside), reductions=())
    if partial.simd:
        try:
            expect_own_elements(loop, elements)
        except IllegalError:
            return replace(partial, simd=False)
    return partial


def in_part(body: Body, loop: For, kinds: Mapping[str, str]) -> tuple[PartialFold, dict[str, Name]]:
    """A loop that folds into variables of its own, and these by the variables that it folded into.

    Parameters
    ----------
    body : draws the names of these variables.
    loop, kinds : as of `rfactor`.

    Raises
    ------
    IllegalError
        as of `rfactor`.
    """
    own = {name: Name(body.name(name)) for _, name in folding_loop(loop).reductions}
    return rfactor(loop, kinds, own), own


def begun(fold: PartialFold, own: Mapping[str, Name], kinds: Mapping[str, str]) -> list[Statement]:
    """The declarations of the variables of a part.

    Parameters
    ----------
    fold : a fold into parts.
    own, kinds : the variables of the part, and their types, by the variables of the fold.
    """
    return [LocalVariable(kinds[name], n.name, fold.starts[name]) for name, n in own.items()]


def deal(body: Body, loop: For, lanes: int, kinds: Mapping[str, str]) -> For:
    """A fold whose numbers are dealt to lanes by turns, each of which folds a part of its own.

        for i < 90: total = total + x[i]

    becomes, for 32 lanes,

        for lane < 32: part = -0; for lane <= i < 90 by 32: part = part + x[i]; total = total + part

    Neighbouring lanes so read neighbouring elements. (OpenMP: `schedule(static, 1)`; others: cyclic
    distribution.)

    Parameters
    ----------
    body : draws names.
    loop : folds, and counts by 1.
    lanes : how many there are.
    kinds : the types of the variables that are folded into.

    Raises
    ------
    IllegalError
        as of `rfactor`; if there is no lane; or if the loop does not count by 1 to a number that
        stays the same.
    """
    expect_count("loop over lanes", lanes)
    counter, start = Name(loop.name), loop.start
    if loop.step != 1 or not changed_in([loop]).isdisjoint(names_of(as_expr(loop.stop))):
        raise IllegalError(f"the loop over {loop.name} does not count by 1 to one number")
    lane = Name(body.name("lane"))
    fold, own = in_part(body, loop, kinds)
    first = lane if start == 0 else start + lane
    own_fold = replace(fold.loop, start=first, step=lanes, trip_count=None)
    joined = fold.joined({name: Name(name) for name in own}, own)
    inside = (*begun(fold, own, kinds), own_fold, *joined)
    dealt = For(lane.name, lanes, inside, reductions=tuple(fold.folds))
    number = Group(counter - start) % lanes if start else counter % lanes
    part = Part((dealt, own_fold), {loop.name: counter}, {lane.name: number, loop.name: counter})
    granted(SameIterations((loop,), (part,), "once"))
    applied(f"deal to {lanes} lanes", "numbers are folded in any order", loop, [dealt])
    return dealt


def neutral_elements(
    folds: Sequence[tuple[str, str]], kinds: Mapping[str, str]
) -> Mapping[str, Expr]:
    """The neutral elements of some folds, by the variables that they fold into.

    Raises
    ------
    IllegalError
        if an operation has none for the type of its variable.
    """
    starts: dict[str, Expr] = {}
    for op, name in folds:
        start = neutral(op, kinds.get(name, ""))
        if start is None:
            raise IllegalError(f"there is no neutral element of {op} for {name}")
        starts[name] = start
    return starts


def folding_loop(loop: For) -> For:
    """The loop that folds, inside of others that do nothing else; else the innermost of these."""
    while not loop.reductions and (inner := LoopView(loop).only_loop) is not None:
        loop = inner
    return loop
