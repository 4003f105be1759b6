"""Proves at which distances accesses meet, and that trees have one value in all iterations.

The solver is given indices as they are, with quotients, remainders and loaded numbers, and asked
for two iterations in which both access one element at another distance:

    for i < 9: y[i + 2] = ...; ... = y[i]          no i, j below 9: i + 2 = j, and j - i is not 2
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Index, Name, Op
from codegen.printer import shown
from codegen.schedule.legality import IllegalError
from codegen.walk import names_of, substitute, walk
from hlo_tools.proofs.index_terms import check, term
from hlo_tools.proofs.solver import Solved, z3
from optimizer.analysis.indexing import Counter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codegen.expressions import Expr
    from codegen.schedule.accesses import MemoryAccess
    from codegen.schedule.loop import LoopView
    from codegen.schedule.obligations import AccessDistance, SameValue


def prove_distance(asked: AccessDistance) -> str:
    """The answer, with its claim: see `AccessDistance`.

    Raises
    ------
    IllegalError
        if there are two iterations that access one element at another distance.
    """
    line = f"{asked.one} and {asked.other} meet {_in_words(asked.distances)}"
    if asked.one.index is None or asked.other.index is None:
        return f"promised: {line}"
    one, other = (_Iteration(asked.loop, a, k) for k, a in enumerate((asked.one, asked.other)))
    apart = other.number - one.number
    facts = [*one.facts, *other.facts, one.index == other.index]
    if asked.distances is not None:
        facts.append(z3.Or(apart < asked.distances[0], apart > asked.distances[-1]))
    solver, answer = check(*facts)
    if answer == z3.unsat:
        return f"proved: {line}"
    if asked.is_promised:
        return f"promised: {line}"
    if answer == z3.sat:
        model = solver.model()
        first, second = (model.eval(n.number, model_completion=True) for n in (one, other))
        message = (
            f"the loop over {asked.loop.name}: {asked.one} in iteration {first}"
            f" meets {asked.other} in iteration {second}"
        )
        raise IllegalError(message)
    return f"not decided: {line}"


def _in_words(distances: range | None) -> str:
    if distances is None:
        return "in no two iterations"
    if len(distances) > 1:
        return f"{distances[0]} to {distances[-1]} iterations apart"
    return f"{distances[0]} iterations apart" if distances[0] else "in one iteration only"


class _Iteration:
    """An iteration of a loop, and an access in it.

    Parameters
    ----------
    which : 0 or 1, of two iterations.
    same : names that have one value in both.

    Attributes
    ----------
    number : of the iteration, from 0 on.
    index : of the element that is accessed.
    facts : about these.
    """

    def __init__(
        self, loop: LoopView, access: MemoryAccess | None, which: int,
        same: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        self._loop, self._which, self._same = loop, which, same
        self.number, self.facts = z3.Int(f"iteration {which}"), list[Solved]()
        bounds = loop.bounds
        self.facts.append(self.number >= 0)
        start: Solved = z3.Int("start") if bounds is None else bounds.start
        step = 1 if bounds is None else bounds.step
        if bounds is not None:
            self.facts.append(self.number < len(bounds))
        self._known: dict[str, Solved] = {loop.name: start + step * self.number}
        inner: Mapping[str, range | None] = access.inner if access else {}
        for name, numbers in inner.items():
            self._known[name] = self._counter(name, numbers)
        for guard in access.guards if access else ():
            match guard:
                case Op("<", (less, more)) if loop.written.isdisjoint(names_of(guard)):
                    self.facts.append(self.value(less) < self.value(more))
                case _:
                    pass
        self.index = None if access is None or access.index is None else self.value(access.index)

    def value(self, tree: Expr) -> Solved:
        """What a tree is in the iteration, of whose counters outside the bounds are facts."""
        tree = substitute(tree, _spelled_out(self._loop))
        sums = [index.sum for index in walk(tree) if isinstance(index, Index)]
        for counter in (atom for index in sums for atom, _ in index.terms):
            if isinstance(counter, Counter):
                number = term(Name(counter.name), self._known, self._unknown)
                self.facts += (counter.low <= number, number <= counter.high)
        return term(tree, self._known, self._unknown)

    def _counter(self, name: str, numbers: range | None) -> Solved:
        count = z3.Int(f"{name} {self._which}")
        if numbers is not None:
            self.facts += (count >= 0, count < len(numbers))
            return numbers.start + numbers.step * count
        return count

    def _unknown(self, tree: Expr) -> Solved:
        """Any number; the same in both iterations if nothing in it differs between these."""
        changing = {*self._loop.varying, *self._known} - self._same
        differs = not changing.isdisjoint(names_of(tree))
        return z3.Int(f"{shown(tree)} {self._which if differs else ''}")


def _spelled_out(loop: LoopView) -> Mapping[str, Expr]:
    """The integers that an iteration names, by what they are computed of; other values stay."""
    values: dict[str, Expr] = {}
    for name in loop.forms:
        let = next(s for s in loop.every if getattr(s, "name", "") == name)
        values[name] = substitute(let.value, values)  # type: ignore[union-attr]
    return values


def prove_same_value(asked: SameValue) -> str:
    """The answer, with its claim: see `SameValue`."""
    line = f"{shown(asked.value)} is the same in each iteration over {asked.loop.name}"
    one, other = (_Iteration(asked.loop, None, which, asked.own) for which in range(2))
    # What is not understood is any number, so that there may be more differences than there are.
    _, answer = check(*one.facts, *other.facts, one.value(asked.value) != other.value(asked.value))
    return f"proved: {line}" if answer == z3.unsat else f"not decided: {line}"
