"""Divisions of integers in loops in lanes, as products with reciprocals.

    for i < 64: r[i] = lane_remainder_u32(x[i], y)
    for i < 64: r[i] = remainder_unsigned_u64(x[i], 77)

become

    for i < 64: r[i] = shared_remainder_u32(x[i], y)
    for i < 64: r[i] = lane_remainder_u64(x[i], 77)

A divisor that is the same in all iterations has one reciprocal, which compilers compute before the
loop. A compiler divides by a literal through the high half of a product, of which there are vectors
for 32 bits, but not for 64: see `narrow_counters`. One such division keeps a whole loop from lanes,
as in random integers of 64 bits, which take 7 times as long without this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.expressions import Apply, Expr, Group, Literal, Name
from codegen.statements import callees_in, changed_in, in_lanes, rewritten
from codegen.walk import rebuilt
from hlo.types.element_type import ELEMENT_TYPES, S64, U64

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from codegen.statements import For, Statement

_OPERATIONS = ("quotient", "remainder")
# To those that give the same, but do not divide in each iteration.
_SHARED = {
    FUNCTIONS[f"lane_{operation}", kind]: FUNCTIONS[f"shared_{operation}", kind]
    for operation in _OPERATIONS
    for kind in ELEMENT_TYPES.values()
    if kind.is_integer and kind.bits < 64
}
_LONG = {
    FUNCTIONS[f"{opcode}_{kind.kind}", kind]: FUNCTIONS[f"lane_{operation}", kind]
    for opcode, operation in zip(("divide", "remainder"), _OPERATIONS, strict=True)
    for kind in (S64, U64)
}
_DIVISIONS = _SHARED.keys() | _LONG.keys()


def divide_by_reciprocals(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops in lanes multiply by the reciprocals of shared divisors."""
    return in_lanes(statements, _multiplying)


def _multiplying(loop: For) -> list[Statement]:
    dividing = [s for s in loop.body if not callees_in([s]).isdisjoint(_DIVISIONS)]
    if not dividing:
        return [loop]
    changing = changed_in([loop])
    statements = (
        rewritten(s, lambda expr: _product(expr, changing)) if s in dividing else s
        for s in loop.body
    )
    return [loop.with_body(statements)]


def _product(expr: Expr, changing: Collection[str]) -> Expr:
    """A tree with products instead of divisions; `changing` are the names of values that differ."""
    expr = rebuilt(expr, lambda inside: _product(inside, changing))
    match expr:
        case Apply(function, (_, Name(name)) as args) if name not in changing:
            return Apply(_SHARED.get(function, function), args)
        case Apply(function, (_, Literal(int(n)) | Group(Literal(int(n)))) as args):
            is_shifted = not abs(n) & (abs(n) - 1)
            return expr if is_shifted else Apply(_LONG.get(function, function), args)
        case _:
            return expr
