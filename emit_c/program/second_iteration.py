"""The second iteration of a loop whose state swaps buffers; see `optimizer.memory.swapping`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.elements.memory import copied
from codegen.expressions import Literal, Name
from codegen.program.trees import leaves
from codegen.statements import Break, If, Try
from emit_c.program.function import HANDED_ON_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.expressions import Expr
    from codegen.program.buffers import Home
    from codegen.statements import Statement
    from emit_c.program.function import FunctionWriter
    from hlo.instruction import Computation, Instruction
    from optimizer.memory.swapping import Swap


def iteration_on_swapped_buffers(
    function: FunctionWriter, loop: Instruction, ended: Expr
) -> tuple[Statement, ...]:
    """The second iteration of a loop with swaps, after the first one; nothing for a loop without.

    Parameters
    ----------
    ended : the condition for that the loop has ended; its state must then be moved to where it
        belongs.
    """
    swaps = function.module.memory.swaps.get(loop, ())
    if not swaps:
        return ()
    condition, body = (_swapped(function, computation, swaps) for computation in loop.called)
    there = leaves(function.pointers_of(loop), loop.shape)
    moves: list[Statement] = []
    for swap in swaps:
        shape, here = swap.source.shape, function.pointer(swap.source, swap.source.name)
        size = shape.size * shape.element_type.bytes
        moves.append(copied(Name(str(there[swap.leaf])), Name(str(here)), size))
    return (
        Try(Name(condition), HANDED_ON_NAMES),
        If(ended, (*moves, Break(Literal(1)))),
        Try(Name(body), HANDED_ON_NAMES),
    )


def _swapped(function: FunctionWriter, computation: Computation, swaps: Sequence[Swap]) -> str:
    """The name of a second C function of a computation, in which buffers are swapped."""
    module = function.module
    name = module.written[computation]
    exchanged: dict[Home, Home] = {}
    for swap in swaps:
        exchanged |= {swap.state: swap.following, swap.following: swap.state}
    other = module.names.unique(f"{computation.name}_swapped", "computation")
    first = module.functions[name]
    about = f"{first.about}, with buffers in each other's place"
    module.functions[other] = first.with_homes(other, about, exchanged)
    return other
