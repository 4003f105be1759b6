"""Unroll: copies of iterations one after the other, each with names of its own.

    for j < 3: t = x[j]; total = total + t

becomes

    t = x[0]; total = total + t; t_1 = x[1]; total = total + t_1; t_2 = x[2]; total = total + t_2

A copy makes no choice that the known values of names decide.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from codegen.expressions import Group, Literal, Name, conjoined, indexed
from codegen.schedule.conditions import parts_of, truth
from codegen.schedule.legality import IllegalError, expect_count, expect_no_break
from codegen.schedule.loop import LoopView
from codegen.schedule.obligations import Part, SameIterations, granted
from codegen.schedule.trace import applied
from codegen.statements import Assign, For, If, Let, LocalVariable, Statement, base, nested, renamed
from codegen.walk import substitute
from optimizer.analysis.indexing import counter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr


def unroll(body: Body, loop: For) -> list[Statement]:
    """A loop's iterations one after the other, each with names of its own.

    So are those of the loops inside. They stay in their order, so it is legal where all of them
    run.

    Raises
    ------
    IllegalError
        if the bounds of one of these loops are not known, or if an iteration may be the last one.
    """
    statements = list(_iterations(body, loop))
    applied("unroll", "iterations stay in order", loop, statements)
    return statements


def unroll_inside(body: Body, loop: For) -> list[Statement]:
    """The statements of an iteration, with the loops among them unrolled.

    Raises
    ------
    IllegalError
        as of `unroll`.
    """
    return [part for s in loop.body for part in (unroll(body, s) if isinstance(s, For) else [s])]


def _iterations(body: Body, loop: For) -> Iterator[Statement]:
    numbers = LoopView(loop).bounds
    expect_no_break(loop)
    if numbers is None:
        raise IllegalError(f"the bounds of the loop over {loop.name} are not known")
    single = ({loop.name: Literal(number)} for number in numbers)
    granted(SameIterations((loop,), tuple(Part((), at) for at in single)))
    for number in numbers:
        for statement in copied(body, loop.body, {loop.name: Literal(number)}):
            yield from _iterations(body, statement) if isinstance(statement, For) else (statement,)


def unroll_by(
    body: Body, loop: For, times: int, holds: Callable[[int, Expr, Expr], bool | None]
) -> list[Statement]:
    """Several iterations at a time, one after the other, and those that are left over.

        for i < 9: y[i] = f(x[i])

    becomes, two at a time,

        for i < 4: y[2 * i] = f(x[2 * i]); y[2 * i + 1] = f(x[2 * i + 1])
        y[8] = f(x[8])

    Parameters
    ----------
    body : draws names.
    loop : counts by 1, between known bounds.
    times : how many iterations of the loop become one.
    holds : says whether a condition holds in all iterations that are copies of one: for the first
        of these, the number of any of them, and the condition; None if that differs.

    Raises
    ------
    IllegalError
        if `times` is less than 1, if the loop does not count by 1, from one number that is known to
        another, or if an iteration may be the last one.
    """
    numbers = LoopView(loop).bounds
    expect_no_break(loop)
    expect_count("group", times)
    if numbers is None or numbers.step != 1:
        raise IllegalError(f"the bounds of the loop over {loop.name} are not known")
    name, groups = body.name(loop.name), len(numbers) // times
    place = {name: Group(Name(loop.name) - numbers.start) // times}

    def copy(first: int, number: Expr) -> Iterator[Statement]:
        return copied(body, loop.body, {loop.name: number}, partial(holds, first, number))

    group = replace(loop, name=name, start=0, stop=groups, trip_count=None)
    inside: list[Statement] = []
    parts: list[Part] = []
    for first in numbers[:times]:
        number = indexed(counter(name, groups) * times + first)
        inside += copy(first, number)
        parts.append(Part((group,), {loop.name: number}, place))
    statements: list[Statement] = [group.with_body(inside)]
    for left in numbers[groups * times :]:
        statements += copy(left, Literal(left))
        parts.append(Part((), {loop.name: Literal(left)}))
    # All of a group come before the next one, which parts that are told one by one do not say.
    granted(SameIterations((loop,), tuple(parts), "once"))
    applied(f"unroll by {times}", "iterations stay in order", loop, statements)
    return statements


def copied(
    body: Body,
    statements: Sequence[Statement],
    values: dict[str, Expr],
    holds: Callable[[Expr], bool | None] | None = None,
) -> Iterator[Statement]:
    """A copy of statements in which some names have values, and declared names are new.

    Parameters
    ----------
    body : draws names.
    statements : what is copied.
    values : of names that the statements do not declare; those of the declared ones are added.
    holds : says of the parts of conditions whether they hold, or None; else the values of the names
        say so.
    """
    if holds is None:
        holds = partial(truth, known={**values})
    for part in _settled(list(_decided(statements, holds))):
        if isinstance(part, If):
            sides = (tuple(copied(body, s, {**values}, holds)) for s in (part.then, part.otherwise))
            yield If(substitute(part.condition, values), *sides)
        elif isinstance(part, For):
            inside = copied(body, part.body, {**values}, holds)
            yield replace(renamed(replace(part, body=()), values), body=tuple(inside))
        else:
            changed = renamed(part, values)
            if isinstance(changed, Let | LocalVariable):
                name = body.name(changed.name)
                values[changed.name] = Name(name)
                changed = replace(changed, name=name)
            yield changed


def _decided(
    statements: Sequence[Statement], holds: Callable[[Expr], bool | None]
) -> Iterator[Statement]:
    """Statements without the choices that are decided."""
    for statement in statements:
        if not isinstance(statement, If):
            yield statement
            continue
        parts = parts_of(statement.condition)
        truths = [holds(part) for part in parts]
        if False in truths:
            yield from _decided(statement.otherwise, holds)
        elif None not in truths:
            yield from _decided(statement.then, holds)
        else:
            unknown = [part for part, known in zip(parts, truths, strict=True) if known is None]
            yield replace(statement, condition=conjoined(unknown))


def _settled(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Statements whose variables are constants where a decided choice left them one value."""
    assigned = [s.target for s in nested(statements) if isinstance(s, Assign)]
    counts = Counter(target.name for target in assigned if isinstance(target, Name))
    at_once = {base(s.target) for s in statements if isinstance(s, Assign)}
    kinds = {
        s.name: s.kind
        for s in statements
        if isinstance(s, LocalVariable) and s.value is None and s.size is None
        if counts[s.name] == 1 and s.name in at_once
    }
    for s in statements:
        if isinstance(s, Assign) and isinstance(s.target, Name) and base(s.target) in kinds:
            yield Let(kinds[base(s.target)], base(s.target), s.value)
        elif not isinstance(s, LocalVariable) or s.name not in kinds:
            yield s
