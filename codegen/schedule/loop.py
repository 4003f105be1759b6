"""A lazy view of a loop: its bounds, and the names and elements in it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from codegen.expressions import Choose, Load
from codegen.schedule.accesses import MemoryAccess, accesses, bounds_of
from codegen.schedule.linear import Linear, linear
from codegen.statements import (
    Assign,
    For,
    Let,
    LocalVariable,
    base,
    each_side,
    nested,
    straight,
    values,
)
from codegen.walk import children, names_of, substitute, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from codegen.expressions import Expr
    from codegen.statements import Statement


# Names in a value that is spelled out: more than any index has.
_LONGEST = 64


class LoopView:
    """A loop, and the answers to the questions that transformations ask of it.

    Each is computed when it is asked for the first time.

    Parameters
    ----------
    statement : the loop itself.
    """

    def __init__(self, statement: For) -> None:
        self.statement = statement
        self.name, self.body = statement.name, statement.body

    # ---------------------------------------------------------------------------- iterations

    @cached_property
    def bounds(self) -> range | None:
        """The values of the counter; None where the statement does not say them."""
        return bounds_of(self.statement)

    @property
    def is_counted(self) -> bool:
        """Whether it counts by 1 from one number that is known to another."""
        return self.bounds is not None and self.bounds.step == 1

    @property
    def counts_from_0(self) -> bool:
        """Whether it counts by 1 from 0 to a number that is known."""
        return self.bounds is not None and (self.bounds.start, self.bounds.step) == (0, 1)

    @property
    def trips(self) -> int | None:
        """The number of iterations, as the bounds say it; None where they do not."""
        return None if self.bounds is None else len(self.bounds)

    @property
    def only_loop(self) -> For | None:
        """The loop that is all of an iteration; None where an iteration is something else."""
        inner = self.body[0] if len(self.body) == 1 else None
        return inner if isinstance(inner, For) else None

    @cached_property
    def is_straight(self) -> bool:
        """Whether an iteration has no loop inside, and no branch but for chosen values."""
        return straight(self.body)

    # --------------------------------------------------------------------------------- names

    @cached_property
    def every(self) -> tuple[Statement, ...]:
        """All statements of an iteration, those on both sides of choices too."""
        return tuple(each_side(self.body)) if self.is_straight else tuple(nested(self.body))

    @cached_property
    def lets(self) -> dict[str, Let]:
        """The values that an iteration names, on no side of a choice, by their names."""
        return {s.name: s for s in self.body if isinstance(s, Let)}

    @cached_property
    def declared(self) -> set[str]:
        """The names of values, variables and counters of an iteration."""
        return {s.name for s in self.every if isinstance(s, Let | LocalVariable | For)}

    @cached_property
    def written(self) -> set[str]:
        """The names of arrays and variables that are assigned to."""
        return {base(s.target) for s in self.every if isinstance(s, Assign)}

    @cached_property
    def read(self) -> set[str]:
        """The names that values and indices are computed of, those of arrays among them."""
        return {name for s in self.every for tree in values(s) for name in names_of(tree)}

    @cached_property
    def variables(self) -> set[str]:
        """The names of variables and local arrays that an iteration declares."""
        return {s.name for s in self.every if isinstance(s, LocalVariable)}

    @cached_property
    def varying(self) -> set[str]:
        """The names of values that may differ from iteration to iteration."""
        names = {self.name, *self.written, *self.variables, *self._ambiguous}
        names |= {s.name for s in self.every if isinstance(s, For)}
        for s in self.every:
            if isinstance(s, Let) and not names.isdisjoint(names_of(s.value)):
                names.add(s.name)
        return names

    @cached_property
    def _ambiguous(self) -> set[str]:
        """The names of several values, each in a block of its own."""
        first: dict[str, Let] = {}
        lets = [s for s in self.every if isinstance(s, Let)]
        return {s.name for s in lets if first.setdefault(s.name, s).value != s.value}

    # ------------------------------------------------------------------------------ elements

    @cached_property
    def accesses(self) -> list[MemoryAccess]:
        """The accesses of an iteration, in the order in which they happen."""
        return accesses(self.body)

    @cached_property
    def loads(self) -> list[Load]:
        """The elements that are loaded, each as often as a tree says so."""
        inside = (expr for s in self.every for tree in values(s) for expr in walk(tree))
        return [expr for expr in inside if isinstance(expr, Load)]

    @cached_property
    def certain_loads(self) -> list[Load]:
        """The elements that are loaded in each iteration, whatever it chooses."""
        inside = (tree for s in self.body for tree in values(s))
        return [load for tree in inside for load in certain_loads(tree)]

    @cached_property
    def forms(self) -> dict[str, Linear]:
        """The linear forms of the values that an iteration names, where nothing is loaded."""
        forms: dict[str, Linear] = {}
        lets = [s for s in self.every if isinstance(s, Let) and s.name not in self._ambiguous]
        for s in lets:
            # Other integers may wrap around, as those of HLO do.
            if s.kind == "s64" and not has_loads(s.value):
                forms[s.name] = linear(s.value, forms)
        return forms

    @cached_property
    def numbers(self) -> dict[str, Expr]:
        """The values that are computed of the counter, and of no element, by their names.

        Each is spelled out, without names of other values; those that are too long for that, such
        as the rounds of random bits, are left out.
        """
        numbers: dict[str, Expr] = {}
        length = {self.name: 1}
        for s in self.every:
            if isinstance(s, Let) and not has_loads(s.value):
                names = names_of(s.value)
                count = sum(length.get(name, 1) for name in names)
                if count <= _LONGEST and not length.keys().isdisjoint(names):
                    numbers[s.name], length[s.name] = substitute(s.value, numbers), count
        return numbers

    def at_once(self, index: Expr) -> Expr:
        """An index as it is computed of the counter, without names of the iteration."""
        return substitute(index, self.numbers)

    def form(self, index: Expr) -> Linear:
        """The linear form of an index, of names that are known before the iteration."""
        return linear(index, self.forms)

    def slice(self, wanted: Iterable[Expr]) -> list[Let]:
        """The values of an iteration that some trees are computed of, in their order."""
        needed = {name for tree in wanted for name in names_of(tree)}
        lets: list[Let] = []
        for s in reversed(self.body):
            if isinstance(s, Let) and s.name in needed:
                lets.append(s)
                needed |= set(names_of(s.value))
        return lets[::-1]


def perfect_nest(loop: For) -> Iterator[For]:
    """A loop and those inside of it, from the outermost on, between which nothing else is."""
    yield loop
    if (inner := LoopView(loop).only_loop) is not None:
        yield from perfect_nest(inner)


def certain_loads(tree: Expr) -> Iterator[Load]:
    """The loads in a tree that no choice leaves out."""
    if isinstance(tree, Load):
        yield tree
    for child in (tree.condition,) if isinstance(tree, Choose) else children(tree):
        yield from certain_loads(child)


def has_loads(tree: Expr) -> bool:
    """Whether an element of an array is in a tree."""
    return any(isinstance(expr, Load) for expr in walk(tree))
