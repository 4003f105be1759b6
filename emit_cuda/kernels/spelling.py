"""Trees in CUDA's words: the few operations that it spells otherwise than C does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from codegen.expressions import Apply, Expr, Index, Literal, Op
from codegen.statements import (
    Break,
    Call,
    For,
    Forever,
    If,
    Statement,
    Try,
    rewritten,
)
from codegen.walk import rebuilt
from emit_cuda.code.prelude import spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_PARTS = {"real": "real_part", "imag": "imag_part"}


def in_cuda(expr: Expr) -> Expr:
    """A tree in CUDA's words."""
    match expr:
        case Literal(value, kind) if kind in ("f32", "f64") and not math.isfinite(value):
            constant = Apply(f"{'quiet_nan' if math.isnan(value) else 'infinity'}_{kind}", ())
            return Op("-", (constant,)) if expr.is_negative else constant
        case Literal() | Index():
            return expr
        case Op(op, (inside,)) if op in _PARTS:
            return Apply(_PARTS[op], (in_cuda(inside),))
        case Apply(function, args):
            return Apply(spelled(function), tuple(map(in_cuda, args)))
        case _:
            return rebuilt(expr, in_cuda)


def mapped(statement: Statement, change: Callable[[Expr], Expr]) -> Statement:
    """A statement of other trees, those of bounds and arguments among them."""

    def inside(statements: Sequence[Statement]) -> tuple[Statement, ...]:
        return tuple(mapped(s, change) for s in statements)

    match statement:
        case For(name, stop, body, start, step):
            stop, start, step = (
                n if isinstance(n, int) else change(n) for n in (stop, start, step)
            )
            unroll, kind = statement.unroll, statement.kind
            return For(name, stop, inside(body), start, step, unroll=unroll, kind=kind)
        case If(condition, then, otherwise):
            return If(change(condition), inside(then), inside(otherwise))
        case Forever(body):
            return Forever(inside(body))
        case Break(condition):
            return Break(change(condition))
        case Call(function, arguments) | Try(function, arguments):
            return type(statement)(spelled(function), tuple(map(change, arguments)))
        case _:
            return rewritten(statement, change)


def all_in_cuda(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Statements in CUDA's words, without the notes for C's vector lanes and threads."""
    return tuple(mapped(s, in_cuda) for s in statements)
