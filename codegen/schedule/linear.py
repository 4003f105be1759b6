"""Indices as linear forms: a constant and multiples of atoms.

`8 * i + x[j] + 3` is 3 plus 8 times `i` plus once `x[j]`. An atom is the name of an integer, or a
tree that is no sum of products: a quotient, a remainder, an element of an array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codegen.expressions import Group, Index, Literal, Name, Op
from codegen.walk import names_of
from optimizer.analysis.indexing import Counter, Sum

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from codegen.expressions import Expr

    Atom = str | Expr


@dataclass(frozen=True, slots=True)
class Linear:
    """A constant plus multiples of atoms; no factor is 0."""

    constant: int
    terms: Mapping[Atom, int]

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """The sum of this form and a multiple of another one."""
        terms = dict(self.terms)
        for atom, factor in other.terms.items():
            terms[atom] = terms.get(atom, 0) + times * factor
        nonzero = {atom: factor for atom, factor in terms.items() if factor}
        return Linear(self.constant + times * other.constant, nonzero)

    def factor(self, name: str) -> int:
        """The factor of a name."""
        return self.terms.get(name, 0)

    def stride(self, name: str) -> int | None:
        """The factor of a name; None where the name is in another atom as well."""
        is_inside = any(atom != name and name in names_in(atom) for atom in self.terms)
        return None if is_inside else self.factor(name)

    def depends_on(self, names: Iterable[str]) -> bool:
        """Whether one of some names is in an atom."""
        asked = set(names)
        return any(not asked.isdisjoint(names_in(atom)) for atom in self.terms)


def names_in(atom: Atom) -> list[str]:
    """The names in an atom, those of arrays too."""
    return [atom] if isinstance(atom, str) else names_of(atom)


def linear(tree: Expr, values: Mapping[str, Linear] | None = None) -> Linear:
    """The linear form of an index.

    Parameters
    ----------
    values : the forms of names that are to be replaced by them.
    """
    known, result = values or {}, Linear(0, {tree: 1})
    match tree:
        case Literal(int(number)):
            result = Linear(number, {})
        case Name(name):
            result = known.get(name) or Linear(0, {name: 1})
        case Group(inside):
            result = linear(inside, known)
        case Index(total):
            result = _of_sum(total, known)
        case Op("+" | "-" as op, (x, y)):
            result = linear(x, known).plus(linear(y, known), 1 if op == "+" else -1)
        case Op("*", (x, Literal(int(times)))) | Op("*", (Literal(int(times)), x)):
            result = Linear(0, {}).plus(linear(x, known), times)
        case _:
            pass
    return result


def _of_sum(total: Sum, known: Mapping[str, Linear]) -> Linear:
    result = Linear(total.constant, {})
    for atom, factor in total.terms:
        if not isinstance(atom, Counter):
            one = Linear(0, {Index(Sum(0, ((atom, 1),))): 1})
        elif atom.low == atom.high:
            one = Linear(atom.low, {})
        else:
            one = linear(Name(atom.name), known)
        result = result.plus(one, factor)
    return result
