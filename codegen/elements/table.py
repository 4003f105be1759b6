"""The table that all emitters share: how each opcode is emitted.

An emitter's own table extends this one, and has only what the emitter does otherwise. An entry is
one of five kinds. `Scalar` is an expression, written with the operands' values at the same index.
`Element` is a function that emits the value at one index of the result, reading operands wherever
it wants: such instructions can be fused into their users' loops. `WholeArray` is a function that
emits statements which write the whole result: it needs its operands in memory. `BetweenKernels`
marks work of a program's schedule between kernels: control flow, tuples, calls. `Rewritten` names
the pass of the optimizer that leaves none of an opcode to an emitter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hlo.table import OpTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from codegen.expressions import Expr
    from hlo.instruction import Instruction


@dataclass(frozen=True, slots=True)
class Scalar:
    """`write(instr, *values)` gives an expression, in the type that the opcode computes in."""

    write: Callable[..., Expr]


@dataclass(frozen=True, slots=True)
class Element:
    """`write(body, instr, index)` gives the name or expression of one element's value.

    Attributes
    ----------
    whole : `whole(body, instr, outputs)` emits statements that write the whole result in a faster
        way, and gives the bytes of scratch memory that they need; it gives None, and emits
        nothing, where it knows no faster way.
    """

    write: Callable[..., Any]
    whole: Callable[..., int | None] | None = None


@dataclass(frozen=True, slots=True)
class WholeArray:
    """`write(body, instr, outputs)` emits statements that write all outputs.

    Attributes
    ----------
    in_memory : which operands are read through pointers; None for all. The others are read
        element by element.
    """

    write: Callable[..., Any]
    in_memory: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class BetweenKernels:
    """Done between kernels, by a program's schedule.

    Attributes
    ----------
    write : as of `Element`, for use inside a computation of scalars; None where there is no use.
    """

    write: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Instructions that a pass of the optimizer replaces before anything is emitted.

    Attributes
    ----------
    by : the pass.
    unless : why it may have left an instruction, so that there is no code for it.
    """

    by: str
    unless: str = ""


Entry = Scalar | Element | WholeArray | BetweenKernels | Rewritten

elements: OpTable[Entry] = OpTable("elements")


def elemental(table: OpTable[Entry], opcode: str) -> bool:
    """Whether values of an opcode can be computed element by element, inside other loops."""
    return isinstance(table.get(opcode), Scalar | Element)


def is_of_scalars(table: OpTable[Entry], instr: Instruction) -> bool:
    """Whether an instruction, and all that it runs, works on scalars that variables can hold."""
    if not all(shape.is_array and shape.rank == 0 for _, shape in instr.shape.leaves()):
        return False
    entry = table.get(instr.opcode)
    written = isinstance(entry, Scalar | Element)
    if isinstance(entry, BetweenKernels):
        written = entry.write is not None or instr.opcode in ("parameter", "get-tuple-element")
    return written and all(is_of_scalars(table, i) for c in instr.called for i in c.instructions)
