"""Conditions in loops in lanes that are the same for all of their iterations.

    for j: y = c(i) ? x[i, j] : 0

becomes

    limit = c(i) ? n : 0; for j: y = j < limit ? x[i, j] : 0

In lanes a condition is a mask. gcc 12 can't make one of what it computes before the loop, and would
then run one iteration after the other; comparing the counter with a limit gives it a mask again. So
it does to a truth that others are joined with: y = c | x[j] < 0. Without this, pair encoding takes
2.4 times as long, argmin of rows of 10 numbers 3.4 times, and a linear recurrence 1.5 times.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from codegen.expressions import Choose, Expr, Name, Op, as_expr, conjoined
from codegen.schedule.conditions import parts_of
from codegen.statements import If, Let, changed_in, in_lanes
from codegen.walk import names_of
from emit_c.kernels.peephole.loads import with_loads_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codegen.elements.body import Body
    from codegen.statements import For, Statement


def hoist_masks(body: Body, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops in lanes ask nothing that is the same for all iterations."""

    def with_limits(loop: For) -> Sequence[Statement] | None:
        known = isinstance(loop.stop, int)
        return _MaskedLoop(body, with_loads_first(loop)).statements() if known else None

    return in_lanes(statements, with_limits)


class _MaskedLoop:
    """A loop in lanes, and the limits that are before it, by their conditions."""

    def __init__(self, body: Body, loop: For) -> None:
        self.body, self.loop = body, loop
        self.limits: dict[Expr, str] = {}

    @cached_property
    def inside(self) -> set[str]:
        """The names that differ between iterations."""
        return changed_in([self.loop])

    def statements(self) -> tuple[Statement, ...]:
        """The limits and the loop."""
        masked = replace(self.loop, body=self._bounded(self.loop.body))
        start, stop = self.loop.start, self.loop.stop
        lets = (
            Let("s64", n, Choose(c, as_expr(stop), as_expr(start))) for c, n in self.limits.items()
        )
        return (*lets, masked)

    def _bounded(self, statements: Iterable[Statement]) -> tuple[Statement, ...]:
        return tuple(map(self._with_masks, statements))

    def _with_masks(self, statement: Statement) -> Statement:
        match statement:
            case If(condition, then, otherwise):
                return If(self._condition(condition), self._bounded(then), self._bounded(otherwise))
            case Let("pred", name, Op("&" | "|" | "^" as op, operands)):
                return Let("pred", name, Op(op, tuple(map(self._operand, operands))))
            case _:
                return statement

    def _operand(self, operand: Expr) -> Expr:
        """A truth that is the same for all iterations as a mask; any other one as it is."""
        is_known = isinstance(operand, Name) and operand.name not in self.inside
        return self._below(operand) if is_known else operand

    def _below(self, condition: Expr) -> Expr:
        """A comparison of the counter that holds in all iterations, or in none."""
        if condition not in self.limits:
            self.limits[condition] = self.body.name("limit")
        return Op("<", (Name(self.loop.name), Name(self.limits[condition])))

    def _condition(self, condition: Expr) -> Expr:
        """A condition whose parts are the same for all iterations are one comparison."""
        parts = parts_of(condition)
        alike = [p for p in parts if self.inside.isdisjoint(names_of(p))]
        if not alike:
            return condition
        others = [p for p in parts if not self.inside.isdisjoint(names_of(p))]
        return conjoined([self._below(conjoined(alike)), *others])
