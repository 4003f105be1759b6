"""Indices of loops as terms of the solver: as they are, with quotients, remainders and choices."""

from __future__ import annotations

from operator import add, ge, gt, le, lt, mul, ne, sub
from operator import eq as equal
from typing import TYPE_CHECKING, Any

from codegen.expressions import Cast, Choose, Group, Index, Literal, Name, Op
from codegen.printer import shown
from codegen.walk import spelled_out
from hlo_tools.proofs.solver import Solved, z3

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from codegen.expressions import Expr

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": add, "-": sub, "*": mul,
    "<": lt, "<=": le, ">": gt, ">=": ge, "==": equal, "!=": ne,
}  # fmt: skip
MILLISECONDS = 2000
"""Chosen: time for a question, of which most take a few milliseconds."""


def term(
    tree: Expr | int, known: Mapping[str, Solved], unknown: Callable[[Expr], Solved] | None = None
) -> Solved:
    """An integer, or a comparison, as a term.

    Parameters
    ----------
    known : the terms of names.
    unknown : gives the term of a tree that is not understood, such as an element of an array; a
        number of the tree's own, if there is none.
    """

    def inside(tree: Expr) -> Solved:
        return term(tree, known, unknown)

    solved: Solved = None
    match tree:
        case int(number) | Literal(int(number)):
            solved = z3.IntVal(number)
        case Name(name):
            solved = known.get(name)
        case Group(x) | Cast("s64", x):
            solved = inside(x)
        case Index(total):
            solved = inside(spelled_out(total))
        case _:
            solved = _computed(tree, inside)
    if solved is not None:
        return solved
    assert not isinstance(tree, int)
    return unknown(tree) if unknown else z3.Int(shown(tree))


def _computed(tree: Expr, inside: Callable[[Expr], Solved]) -> Solved:
    """The term of an operation; None where it is not understood."""
    match tree:
        case Choose(condition, then, otherwise) if z3.is_bool(chosen := inside(condition)):
            return z3.If(chosen, inside(then), inside(otherwise))
        case Op("-", (x,)):
            return -inside(x)
        case Op(op, (x, y)) if op in _BINARY:
            return _BINARY[op](inside(x), inside(y))
        case Op("/" | "%" | ">>" | "&" as op, (x, Literal(int(number)))) if number > 0:
            return _quotient(op, inside(x), number)
        case _:
            return None


def _quotient(op: str, x: Solved, number: int) -> Solved:
    """A quotient or a remainder, of powers of two by their bits; None for other bits."""
    if op == ">>":
        return x / (1 << number)
    if op == "&":
        return None if number & (number + 1) else x % (number + 1)
    # As in C, towards zero.
    quotient = z3.If(x >= 0, x / number, -(-x / number))
    return quotient if op == "/" else x - number * quotient


def check(*facts: Solved) -> tuple[Any, Any]:
    """A solver that has looked for numbers of which all facts hold, and its answer."""
    solver = z3.Solver()
    solver.set("timeout", MILLISECONDS)
    solver.add(*facts)
    return solver, solver.check()
