"""Copies of bytes, and pointers into memory that several arrays share."""

from __future__ import annotations

from codegen.callees import BUILTINS, FUNCTIONS
from codegen.expressions import Cast, Expr, Literal
from codegen.kinds import Pointer, Record
from codegen.statements import Call
from hlo.support import machine


def copied(target: Expr, source: Expr, size: int) -> Call:
    """A call that copies some bytes; threads share what fills the second-level cache."""
    function = FUNCTIONS["copy_many"] if size >= machine.L2 else BUILTINS["memcpy"]
    return Call(function, (target, source, Literal(size)))


def pointer_into(memory: Expr, offset: int, kind: str | Record, *, const: bool = False) -> Cast:
    """The address so many bytes after the beginning of some memory, as that of numbers."""
    return Cast(Pointer(kind, const), memory + offset if offset else memory)
