"""The parts of folds: operations, neutral elements, other variables.

The operations are OpenMP's, and some more. `sum_of_floats` is `+` where a sum may begin with -0, as
OpenMP's never does. `maximum` and `minimum` are those of f32, with NaN beyond all numbers. `first`
comes after a `max`, and folds the indices of numbers to the least index
of those that are the maximum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.expressions import Apply, Cast, Choose, Expr, Group, Literal, Op, binary
from codegen.statements import Assign
from hlo.monoid import MONOIDS
from hlo.types.element_type import ELEMENT_TYPES, F32
from hlo.types.limits import integer_range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.types.element_type import ElementType

SUM_OF_FLOATS = "sum_of_floats"
EXTREMES = ("maximum", "minimum")
# OpenMP's names for operations that may be split over vector lanes, by the opcode.
OPERATIONS = {
    "add": "+", "multiply": "*", "and": "&", "or": "|", "xor": "^", "maximum": "max",
    "minimum": "min",
}  # fmt: skip
_OPCODES = {operation: opcode for opcode, operation in OPERATIONS.items()} | {
    SUM_OF_FLOATS: "add", "maximum": "maximum", "minimum": "minimum", "first": "minimum",
}  # fmt: skip
# The operations whose neutral elements C can write, of floats and of truth values.
_OF_FLOATS = {"f32": ("+", "*", SUM_OF_FLOATS, *EXTREMES), "f64": ("+", "*", SUM_OF_FLOATS)}
_OF_PREDS = ("|", "^", "&")


def neutral(operation: str, kind: str) -> Expr | None:
    """The neutral element of an operation; None where it has none."""
    element_type = ELEMENT_TYPES.get(kind)
    if element_type is None:
        return None
    is_integer = element_type.is_integer and operation not in EXTREMES
    others = _OF_PREDS if kind == "pred" else _OF_FLOATS.get(kind, ())
    if not is_integer and operation not in others:
        return None
    number = MONOIDS[_OPCODES[operation]].identity(element_type)
    if isinstance(number, int):
        return _integer(number, element_type)
    if isinstance(number, float):
        return Literal(1) if number == 1.0 else Literal(number, kind)
    return None


def _integer(number: int, element_type: ElementType) -> Expr:
    low, high = integer_range(element_type)
    if number in (0, 1):
        return Literal(number)
    if number == -1 or (number == high and not low):
        return Cast(element_type.name, Literal(-1))
    most = Cast(element_type.name, Literal(high, hexadecimal=True))
    return most if number == high else Group(-most - 1)


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
