"""Trees in CUDA's words: the few operations that it spells otherwise than C does."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS, Callee
from codegen.expressions import Apply, Expr, Index, Literal, Op
from codegen.statements import Call, Statement, Try, replaced, rewritten, scalar
from codegen.walk import rebuilt
from emit_cuda.code.prelude import BUILTINS
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PARTS = {"real": FUNCTIONS["real_part"], "imag": FUNCTIONS["imag_part"]}


def in_cuda(expr: Expr) -> Expr:
    """A tree in CUDA's words."""
    match expr:
        case Literal(value, kind) if kind in ("f32", "f64") and not math.isfinite(value):
            stem = "quiet_nan" if math.isnan(value) else "infinity"
            constant = Apply(FUNCTIONS[stem, ELEMENT_TYPES[kind]], ())
            return Op("-", (constant,)) if expr.is_negative else constant
        case Literal() | Index():
            return expr
        case Op(op, (inside,)) if op in _PARTS:
            return Apply(_PARTS[op], (in_cuda(inside),))
        case Apply(function, args):
            return Apply(_function(function), tuple(map(in_cuda, args)))
        case _:
            return rebuilt(expr, in_cuda)


@cache
def _function(function: Callee) -> Callee:
    """CUDA's function for one that compilers of C know; another one itself."""
    builtin = function.builtin
    return FUNCTIONS[BUILTINS.get(builtin, builtin)] if builtin else function


def all_in_cuda(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Statements in CUDA's words, without the notes for C's vector lanes and threads."""
    return replaced([rewritten(s, in_cuda) for s in scalar(tuple(statements))], _renamed)


def _renamed(statement: Statement) -> Sequence[Statement] | None:
    """A call by CUDA's name of the function; None for other statements."""
    match statement:
        case Call(Callee() as function) | Try(Callee() as function):
            return [replace(statement, function=_function(function))]
        case _:
            return None
