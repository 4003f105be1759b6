"""Products in loops in lanes that are rounded before something is added to them.

    for i: p = a[i] * c[i]; x = p - b[i] * d[i]; ... z[2 * i] = x; z[2 * i + 1] = y

becomes

    for i: p = rounded_f32(a[i] * c[i]); x = p - b[i] * d[i]; ... z[2 * i] = x; z[2 * i + 1] = y

What HLO calls a product and a sum is rounded twice. Where differences and sums alternate in one
array, as the parts of complex numbers do, gcc from 12 on has one operation for both, even for those
of products, which it then does not round, whatever it is told about contraction.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.expressions import Apply, Name, Op
from codegen.kinds import number_of
from codegen.statements import Assign, Let, base, in_lanes
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.statements import For, Statement

_REAL, _COMPLEX = ("f32", "f64"), ("c64", "c128")


def round_products(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops in lanes round products where the compiler would not."""
    return in_lanes(statements, _with_rounded)


def _with_rounded(loop: For) -> list[Statement]:
    names = _added(loop.body)
    statements = (
        replace(s, value=Apply(FUNCTIONS["rounded", ELEMENT_TYPES[number_of(s.kind)]], (s.value,)))
        if isinstance(s, Let) and s.name in names
        else s
        for s in loop.body
    )
    return [loop.with_body(statements)]


def _added(body: Sequence[Statement]) -> set[str]:
    """The names of products that sums and differences may be of that alternate in an array."""
    lets = [s for s in body if isinstance(s, Let)]
    products = {s.name for s in lets if s.kind in _REAL and _is(s, "*")}
    if any(s.kind in _COMPLEX for s in lets):
        return products  # their sums may be those of complex numbers, or of conjugates
    arrays = Counter(base(s.target) for s in body if isinstance(s, Assign))
    sums = [s.value for s in lets if isinstance(s.value, Op) and (_is(s, "+") or _is(s, "-"))]
    if max(arrays.values(), default=0) < 2 or {s.op for s in sums} != {"+", "-"}:
        return set()
    # A product that is subtracted from another value is not rounded together with it.
    added = {s.args[0] for s in sums} | {s.args[1] for s in sums if s.op == "+"}
    return products & {x.name for x in added if isinstance(x, Name)}


def _is(let: Let, op: str) -> bool:
    """Whether a value is an operation of two operands."""
    return isinstance(let.value, Op) and let.value.op == op and len(let.value.args) == 2
