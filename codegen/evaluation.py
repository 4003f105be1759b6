"""The value of an integer expression, where the values of its names are known.

They are Python's integers, or arrays of them: of all lanes of a vector, of all threads of a warp.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.expressions import Apply, Cast, Group, Index, LaunchIndex, Literal, Name, Op
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import Counter, Quotient

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from codegen.callees import Callee
    from codegen.expressions import Expr
    from optimizer.analysis.indexing import Atom, Sum

    # An integer, or an array of s64.
    Integers = Any


def _quotient(x: Integers, y: Integers) -> Integers:
    """The quotient, of which C and Python agree for such numbers only."""
    if np.any(np.less_equal(y, 0)) or np.any(np.less(x, 0)):
        raise LookupError("/")
    return x // y


COMPARISONS: dict[str, Callable[[Integers, Integers], Integers]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_OPERATIONS: dict[str, Callable[[Integers, Integers], Integers]] = {
    **COMPARISONS,
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": np.bitwise_and,
    "|": np.bitwise_or, "^": np.bitwise_xor, "<<": np.left_shift, ">>": np.right_shift,
    "&&": np.logical_and, "||": np.logical_or,
    "/": _quotient, "%": lambda x, y: x - y * _quotient(x, y),
}  # fmt: skip
_TYPES = {
    name: element_type.dtype
    for name, element_type in ELEMENT_TYPES.items()
    if element_type.is_integer
}


def evaluated(
    expr: Expr,
    values: Mapping[str, Integers],
    functions: Mapping[Callee, Callable[..., Integers]] | None = None,
) -> Integers:
    """The integers that an expression is.

    Parameters
    ----------
    values : of names, and of the numbers of a launch by CUDA's names.
    functions : that it may apply.

    Raises
    ------
    LookupError
        if it depends on other names or on memory, or is no integer.
    """

    def value(expr: Expr) -> Integers:
        match expr:
            case Literal(int(number), ""):
                result = number
            case Name() | LaunchIndex():
                result = values[expr.name if isinstance(expr, Name) else str(expr)]
            case Index(total):
                result = _sum(total, values)
            case Group(inside):
                result = value(inside)
            case Cast(str(kind), inside) if kind in _TYPES:
                result = np.asarray(value(inside)).astype(_TYPES[kind]).astype(np.int64)
            case Op("-", (inside,)):
                result = -value(inside)
            case Op(sign, (first, second)) if sign in _OPERATIONS:
                result = _OPERATIONS[sign](value(first), value(second))
            case Apply(function, arguments) if functions and function in functions:
                result = functions[function](*map(value, arguments))
            case _:
                raise LookupError(expr)
        return result

    return value(expr)


def _sum(total: Sum, values: Mapping[str, Integers]) -> Integers:
    return sum((_atom(atom, values) * factor for atom, factor in total.terms), total.constant)


def _atom(atom: Atom, values: Mapping[str, Integers]) -> Integers:
    if isinstance(atom, Counter):
        return values[atom.name]
    dividend = _sum(atom.dividend, values)
    is_quotient = isinstance(atom, Quotient)
    return dividend // atom.divisor if is_quotient else dividend % atom.divisor
