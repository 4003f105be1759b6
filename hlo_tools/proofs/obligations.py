"""Proves, for a kernel, what each transformation of its loops took for granted.

A transformation is legal by formulas of linear forms and bounds (`codegen.schedule.legality`), and
says what must hold (`codegen.schedule.obligations`). Here the solver looks for iterations in which
it does not hold. An answer is "proved"; "promised" of what the author of a loop has said, and only
a run tells; "not proved" and why; or "not decided", where the solver gives up.
"""

from __future__ import annotations

from functools import partial
from operator import add, mul
from typing import TYPE_CHECKING, Any

from codegen.elements.folds import SUM_OF_FLOATS
from codegen.expressions import Cast, Group, Literal, Op
from codegen.schedule.obligations import (
    AccessDistance,
    AnyOrder,
    SameIterations,
    SameValue,
    Staged,
    Unproved,
)
from hlo.types.element_type import ELEMENT_TYPES
from hlo_tools.proofs.access_distances import prove_distance, prove_same_value
from hlo_tools.proofs.index_terms import check
from hlo_tools.proofs.iterations import prove_iterations
from hlo_tools.proofs.solver import z3
from hlo_tools.proofs.staged_elements import prove_staged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from codegen.expressions import Expr
    from codegen.schedule.obligations import Obligation


def prove_obligations(obligations: Iterable[Obligation]) -> Iterator[str]:
    """Prove what a transformation of a loop took for granted, a line for each claim.

    Raises
    ------
    IllegalError
        if two iterations access one element at another distance, or if iterations are left out,
        done twice, or in another order than it is said.
    """
    seen: set[str] = set()
    for obligation in obligations:
        line = _answer(obligation)
        if line not in seen:
            seen.add(line)
            yield line


def _answer(asked: Obligation) -> str:
    match asked:
        case AccessDistance():
            return prove_distance(asked)
        case SameIterations():
            return prove_iterations(asked)
        case SameValue():
            return prove_same_value(asked)
        case Staged():
            return prove_staged(asked)
        case AnyOrder():
            return _of_order(asked)
        case Unproved(claim, because):
            return f"not proved: {claim}, as {because}"


_FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "+": add, "*": mul,
    "&": lambda x, y: x & y, "|": lambda x, y: x | y, "^": lambda x, y: x ^ y,
}  # fmt: skip


def _of_order(asked: AnyOrder) -> str:
    """Of integers the solver is asked for bits whose order matters."""
    operation = "+" if asked.operation == SUM_OF_FLOATS else asked.operation
    line = f"{operation} of {asked.kind or 'numbers'} may be in any order"
    known = ELEMENT_TYPES.get(asked.kind)
    if operation == "first":
        return f"not proved: {line}, as the least of the first places is told by their numbers"
    if known is None or not (known.is_integer or known.name == "pred"):
        return f"promised: {line}, as the operation is that of a reduction"
    bits = 1 if known.name == "pred" else known.bits
    join = _FOLDS.get(operation) or partial(_extreme, operation, known.kind == "signed")
    # What holds of the sums and products of all integers holds of those that wrap around.
    in_bits = operation not in ("+", "*")
    x, y, z = (z3.BitVec(name, bits) if in_bits else z3.Int(name) for name in "xyz")
    wrong = [join(x, y) != join(y, x), join(join(x, y), z) != join(x, join(y, z))]
    start = None if asked.start is None else _integer(asked.start)
    if start is not None:
        line += f", from {start}"
        wrong.append(join(z3.BitVecVal(start, bits) if in_bits else start, x) != x)
    _, answer = check(z3.Or(*wrong))
    return f"proved: {line}" if answer == z3.unsat else f"not decided: {line}"


def _extreme(operation: str, is_signed: bool, x: Any, y: Any) -> Any:
    less = x < y if is_signed else z3.ULT(x, y)
    return z3.If(less, y, x) if operation == "max" else z3.If(less, x, y)


def _integer(tree: Expr) -> int | None:
    """The number that a constant is; None for other trees."""
    match tree:
        case Literal(int(number)):
            return number
        case Group(x) | Cast(_, x):
            return _integer(x)
        case Op("-", (x,)):
            number = _integer(x)
            return None if number is None else -number
        case Op("-", (x, y)):
            first, second = _integer(x), _integer(y)
            return None if first is None or second is None else first - second
        case _:
            return None
