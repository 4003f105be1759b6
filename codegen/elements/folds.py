"""The parts of folds: operations, neutral elements, other variables.

The operations are OpenMP's, and some more. `sum_of_floats` is `+` where a sum may begin with -0, as
OpenMP's never does. `maximum` and `minimum` are those of f32, with NaN beyond all numbers. `first`
comes after a `max`, and folds the indices of numbers to the least index
of those that are the maximum.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.expressions import Apply, Cast, Choose, Expr, Group, Literal, Op, binary
from codegen.statements import Assign
from hlo.types.element_type import ELEMENT_TYPES, F32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.types.element_type import ElementType

SUM_OF_FLOATS = "sum_of_floats"
# With the neutral element of each.
EXTREMES = {"maximum": -inf, "minimum": inf}


def neutral(operation: str, kind: str) -> Expr | None:
    """The neutral element of an operation; None where it has none."""
    known = ELEMENT_TYPES.get(kind)
    integer = known if known is not None and known.is_integer else None
    is_float = kind in ("f32", "f64")
    if operation in ("+", SUM_OF_FLOATS):
        # -0 + -0 is -0, and 0 + -0 is 0.
        return Literal(0) if integer else Literal(-0.0, kind) if is_float else None
    if operation == "*":
        return Literal(1) if integer or is_float else None
    if operation in EXTREMES:
        return Literal(EXTREMES[operation], kind) if kind == "f32" else None
    if kind == "pred":
        number = {"|": 0, "^": 0, "&": 1}.get(operation)
        return None if number is None else Literal(number)
    return _neutral_integer(operation, integer) if integer else None


def _neutral_integer(operation: str, integer: ElementType) -> Expr:
    ones = Cast(integer.name, Literal(-1))
    if operation in ("|", "^", "&"):
        return ones if operation == "&" else Literal(0)
    is_largest = operation in ("first", "min")
    if integer.kind == "unsigned":
        return ones if is_largest else Literal(0)
    most = Cast(integer.name, Literal((1 << integer.bits - 1) - 1, hexadecimal=True))
    return most if is_largest else Group(-most - 1)


def joined(operation: str, x: Expr, y: Expr) -> Expr:
    """Two numbers folded into one."""
    if operation in ("max", "min"):
        return Choose(Op(">" if operation == "max" else "<", (y, x)), y, x)
    if operation in EXTREMES:
        return Apply(FUNCTIONS[operation, F32], (x, y))
    return binary("+" if operation == SUM_OF_FLOATS else operation, x, y)


def all_joined(folds: Sequence[tuple[str, Expr, Expr]]) -> tuple[Assign, ...]:
    """Statements that fold others into some variables: each an operation, a variable, the other."""
    assigns: list[Assign] = []
    for number, (operation, x, y) in enumerate(folds):
        if operation == "first":
            # The indices are compared while the variable still has the maximum of those before.
            _, most, other = folds[number - 1]
            greater, equal = Group(Op(">", (other, most))), Group(Op("==", (other, most)))
            earlier = greater | Group(equal & Group(Op("<", (y, x))))
            assigns.insert(-1, Assign(x, Choose(earlier, y, x)))
        else:
            assigns.append(Assign(x, joined(operation, x, y)))
    return tuple(assigns)
