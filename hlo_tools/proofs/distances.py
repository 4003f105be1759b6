"""Proves the dependence distances on which the legality of loop transformations rests.

Whether a loop may be changed is decided by dependences: at which distances, in iterations, two
accesses meet (`codegen.schedule.dependences`). There indices are linear forms and bounds. Here the
solver is given the indices as they are, with quotients, remainders and loaded numbers, and asked
for two iterations in which both access one element at another distance.

    for i < 9: y[i + 2] = ...; ... = y[i]          no i, j below 9: i + 2 = j, and j - i is not 2
"""

from __future__ import annotations

from operator import add, mul, sub
from typing import TYPE_CHECKING

from codegen.expressions import Cast, Group, Index, Literal, Name, Op
from codegen.printer import shown
from codegen.schedule.legality import IllegalError
from codegen.walk import names_of, spelled_out, substitute
from hlo_tools.proofs.solver import Solved, z3

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from codegen.expressions import Expr
    from codegen.schedule.accesses import MemoryAccess
    from codegen.schedule.dependences import Obligation
    from codegen.schedule.loop import LoopView

_ARITHMETIC = {"+": add, "-": sub, "*": mul}
MILLISECONDS = 2000
"""Chosen: time for a question, of which most take a few milliseconds."""


def prove_obligations(obligations: Iterable[Obligation]) -> Iterator[str]:
    """Prove what a transformation of a loop took for granted, a line for each pair of accesses.

    Raises
    ------
    IllegalError
        if two iterations access one element at another distance.
    """
    seen: set[str] = set()
    for each in obligations:
        line = f"{each.one} and {each.other} meet {_in_words(each.distances)}"
        if line not in seen:
            seen.add(line)
            yield f"{'proved' if _is_proved(each) else 'not decided'}: {line}"


def _in_words(distances: range | None) -> str:
    if distances is None:
        return "in no two iterations"
    if len(distances) > 1:
        return f"{distances[0]} to {distances[-1]} iterations apart"
    return f"{distances[0]} iterations apart" if distances[0] else "in one iteration only"


def _is_proved(asked: Obligation) -> bool:
    loop, distances = asked.loop, asked.distances
    one, other = (_Iteration(loop, a, k) for k, a in enumerate((asked.one, asked.other)))
    apart = other.number - one.number
    solver = z3.Solver()
    solver.set("timeout", MILLISECONDS)
    solver.add(*one.facts, *other.facts, one.index == other.index)
    if distances is not None:
        solver.add(z3.Or(apart < distances[0], apart > distances[-1]))
    answer = solver.check()
    if answer == z3.sat:
        model = solver.model()
        first, second = (model.eval(each.number, model_completion=True) for each in (one, other))
        message = (
            f"the loop over {loop.name}: {asked.one} in iteration {first}"
            f" meets {asked.other} in iteration {second}"
        )
        raise IllegalError(message)
    return answer == z3.unsat


class _Iteration:
    """An iteration of a loop, and an access in it.

    Attributes
    ----------
    number : of the iteration, from 0 on.
    index : of the element that is accessed.
    facts : about these.
    """

    def __init__(self, loop: LoopView, access: MemoryAccess, which: int) -> None:
        self._loop, self._which = loop, which
        self.number, self.facts = z3.Int(f"iteration {which}"), list[Solved]()
        bounds = loop.bounds
        self.facts.append(self.number >= 0)
        start: Solved = z3.Int("start") if bounds is None else bounds.start
        step = 1 if bounds is None else bounds.step
        if bounds is not None:
            self.facts.append(self.number < len(bounds))
        self._known: dict[str, Solved] = {loop.name: start + step * self.number}
        for name, numbers in access.inner.items():
            self._known[name] = self._counter(name, numbers)
        assert access.index is not None
        self.index = self._term(substitute(access.index, _spelled_out(loop)))

    def _counter(self, name: str, numbers: range | None) -> Solved:
        count = z3.Int(f"{name} {self._which}")
        if numbers is not None:
            self.facts += (count >= 0, count < len(numbers))
            return numbers.start + numbers.step * count
        return count

    def _term(self, tree: Expr) -> Solved:
        made: Solved = None
        match tree:
            case Literal(int(number)):
                made = z3.IntVal(number)
            case Name(name):
                made = self._known.get(name)
            case Group(inside) | Cast("s64", inside):
                made = self._term(inside)
            case Index(total):
                made = self._term(spelled_out(total))
            case Op("-", (x,)):
                made = -self._term(x)
            case Op("+" | "-" | "*" as op, (x, y)):
                made = _ARITHMETIC[op](self._term(x), self._term(y))
            case Op("/" | "%" as op, (x, Literal(int(divisor)))) if divisor > 0:
                dividend = self._term(x)
                # As in C, towards zero.
                quotient = z3.If(dividend >= 0, dividend / divisor, -(-dividend / divisor))
                made = quotient if op == "/" else dividend - divisor * quotient
            case _:
                pass
        return self._unknown(tree) if made is None else made

    def _unknown(self, tree: Expr) -> Solved:
        """Any number; the same in both iterations if nothing in it differs between these."""
        differs = not {*self._loop.varying, *self._known}.isdisjoint(names_of(tree))
        return z3.Int(f"{shown(tree)} {self._which if differs else ''}")


def _spelled_out(loop: LoopView) -> Mapping[str, Expr]:
    """The integers that an iteration names, by what they are computed of; other values stay."""
    values: dict[str, Expr] = {}
    for name in loop.forms:
        let = next(s for s in loop.every if getattr(s, "name", "") == name)
        values[name] = substitute(let.value, values)  # type: ignore[union-attr]
    return values
