"""Index arithmetic in 32 bits, where no index of a kernel needs more.

A GPU's registers have 32 bits. It adds numbers of 64 by two instructions, multiplies them by four
and divides them by dozens; and the threads of a loop divide their number by the dimensions of an
array. Loops are written with indices of 64 bits, as large arrays need them.

References
----------
XLA, `EmitterBase` in `xla/backends/gpu/codegen/emitters/emitter_base.cc`, which chooses so, too.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from codegen.expressions import Cast, Expr, Index, Literal
from codegen.statements import For, Let, LocalVariable, Statement, replaced, rewritten
from codegen.walk import rebuilt
from hlo import attributes as a

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hlo.instruction import Instruction
    from hlo.types.values import PaddingDim, WindowDim

_WIDE, _NARROW = "s64", "s32"
# Elements of an array, and the farthest that a window reaches: their sums have 31 bits.
MOST, BITS = 1 << 30, 32


def fits_32_bits(computed: Iterable[Instruction]) -> bool:
    """Whether all indices of a kernel have 32 bits, and none of its numbers 64.

    Indices that are known at run time only are clamped first, except those of a scatter.

    Parameters
    ----------
    computed : the instructions that the kernel computes, those inside of others as well.
    """
    return all(
        _fits(operand)
        for instr in computed
        for operand in (instr, *instr.operands, *(i for c in instr.called for i in c.instructions))
    )


def _fits(instr: Instruction) -> bool:
    shapes = [s for _, s in instr.shape.leaves() if s.is_array]
    if any(s.size >= MOST or s.element_type.real.bits > BITS for s in shapes):
        return False
    if "data_dependent" in instr.row.traits:
        indices = {o.shape.element_type.name for o in instr.operands[1:]}
        return instr.opcode != "scatter" and "u32" not in indices
    return max(map(_reach, _steps(instr)), default=0) * _longest(instr) < MOST


def _steps(instr: Instruction) -> tuple[WindowDim | PaddingDim, ...]:
    """The movements of a window, or the padding of dimensions."""
    match instr.attrs:
        case a.Pad(padding=dims) | a.Windowed(window=dims) | a.Convolution(window=dims):
            return dims
        case _:
            return ()


def _reach(dim: WindowDim | PaddingDim) -> int:
    """A bound for the factor by which an index along a dimension may grow."""
    return sum(abs(getattr(dim, field.name)) for field in fields(dim))


def _longest(instr: Instruction) -> int:
    shapes = (s for i in (instr, *instr.operands) for _, s in i.shape.leaves() if s.is_array)
    return max((n for s in shapes for n in s.dims), default=1)


def index_kind(results: Iterable[Instruction]) -> str:
    """The type of index arithmetic that does for all arrays from which results are computed."""
    stack = list(results)
    seen = set(stack)
    while stack:
        instr = stack.pop()
        if any(s.is_array and s.size >= MOST for _, s in instr.shape.leaves()):
            return "s64"
        fresh = [operand for operand in instr.operands if operand not in seen]
        seen.update(fresh)
        stack += fresh
    return "s32"


def in_32_bits(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Statements whose variables and counters of 64 bits have 32."""
    return _narrowed(rewritten(s, _cast) for s in statements)


def _cast(expr: Expr) -> Expr:
    match expr:
        case Literal() | Index():
            return expr
        case Cast("s64", inside):
            return Cast(_NARROW, _cast(inside))
        case _:
            return rebuilt(expr, _cast)


def _narrowed(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    def change(statement: Statement) -> Sequence[Statement] | None:
        match statement:
            case Let(kind) | LocalVariable(kind) if kind == _WIDE:
                return [replace(statement, kind=_NARROW)]
            case For(kind=kind, body=body) if kind == _WIDE:
                return [replace(statement, kind=_NARROW, body=_narrowed(body))]
            case _:
                return None

    return replaced(statements, change)
