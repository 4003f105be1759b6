"""Conversions of f16 outside of vector lanes, by the processor's instruction.

    for u < 65534: y[at[u]] = store_f16(load_f16(y[at[u]]) + load_f16(x[u]))

becomes

    for u < 65534: y[at[u]] = store_one_f16(load_one_f16(y[at[u]]) + load_one_f16(x[u]))

In lanes, conversions are arithmetic on bits, which gcc 12 vectorizes: 20 operations to store a
number. It has no vectors of the instructions for them, but uses these for one number. So loops in
lanes stay as they are, unless they are too short to fill a vector: then they convert one number
after the other. Without this, scatters of f16 take 4.5 times as long, of rows of seven 2.8 times.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.expressions import Apply, Expr
from codegen.loops.work import trip_count
from codegen.statements import (
    Assign,
    For,
    LocalVariable,
    base,
    blocks,
    live,
    names_in,
    nested,
    replaced,
    rewritten,
    trees,
)
from codegen.walk import names_of, rebuilt, walk
from emit_c.kernels.peephole.outline_math import has_long_functions
from hlo.support import machine
from hlo.types.element_type import F16

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.callees import Callee
    from codegen.schedule.types import KernelTypes
    from codegen.statements import Statement

_LOAD, _STORE, _NARROW = (FUNCTIONS[verb, F16] for verb in ("load", "store", "narrow"))
_ONE = {f: FUNCTIONS[f"{f.stem}_one", F16] for f in (_LOAD, _STORE, _NARROW)}


def scalar_conversions(
    statements: Sequence[Statement], types: KernelTypes
) -> tuple[Statement, ...]:
    """Statements that convert numbers of f16 by an instruction, but for those in full vectors."""
    if all(types.of(name) != "f16" for name in types.arguments):
        return tuple(statements)
    in_registers = _filled_in_lanes(statements)
    return replaced(statements, lambda s: _one_by_one(s, in_registers))


def _filled_in_lanes(statements: Sequence[Statement]) -> set[str]:
    """The local arrays that loops in lanes fill, and that compilers keep in registers for these."""
    every = list(nested(statements))
    inside = nested([s for s in every if isinstance(s, For) and s.simd])
    filled = {base(s.target) for s in inside if isinstance(s, Assign)}
    return filled & {s.name for s in every if isinstance(s, LocalVariable) and s.size}


def _one_by_one(statement: Statement, in_registers: set[str]) -> Sequence[Statement] | None:
    """A statement that is not in vector lanes; None for one with others inside of it."""
    if not isinstance(statement, For):
        return None if blocks(statement) else [rewritten(statement, _one)]
    if not statement.simd:
        return None
    # Loads take few operations in lanes.
    is_rounded = bool(_conversions(statement) - {_LOAD})
    if not is_rounded or trip_count(statement) >= machine.LANES or has_long_functions(statement):
        return [statement]
    if not in_registers.isdisjoint(names_in(statement.body)):
        return [statement]
    return [rewritten(replace(statement, simd=False), _one)]


def _conversions(loop: For) -> set[Callee]:
    """The conversions in a loop."""
    every = (e for s in nested(live(loop.body)) for tree in trees(s) for e in walk(tree))
    return {e.function for e in every if isinstance(e, Apply) and _is_converted(e)}


def _is_converted(call: Apply) -> bool:
    """Whether it converts a number that compilers do not know."""
    return call.function in _ONE and any(names_of(arg) for arg in call.args)


def _one(expr: Expr) -> Expr:
    if not isinstance(expr, Apply) or not _is_converted(expr):
        return rebuilt(expr, _one)
    match expr:
        case Apply(outer, (Apply(inner, inside),)) if (outer, inner) == (_STORE, _NARROW):
            return Apply(_ONE[_STORE], tuple(map(_one, inside)))
        case _:
            return Apply(_ONE[expr.function], tuple(map(_one, expr.args)))
