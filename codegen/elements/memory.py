"""Copies of bytes, and pointers into memory that several arrays share."""

from __future__ import annotations

from codegen.expressions import Cast, Expr, Literal
from codegen.kinds import Pointer, Record
from codegen.statements import Call

# Bytes from which on threads share the work of a copy.
MANY_BYTES = 1 << 20


def copied(target: Expr, source: Expr, size: int) -> Call:
    """A call that copies some bytes."""
    function = "copy_many" if size >= MANY_BYTES else "__builtin_memcpy"
    return Call(function, (target, source, Literal(size)))


def pointer_into(memory: Expr, offset: int, kind: str | Record, *, const: bool = False) -> Cast:
    """The address so many bytes behind the beginning of some memory, as that of numbers."""
    return Cast(Pointer(kind, const), memory + offset if offset else memory)
