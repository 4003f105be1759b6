"""Removes loops that change nothing.

while(x), body=b   =>   x        where b yields its parameter
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpreter.idle_loops import is_idle
from optimizer.expanders.op_expander import ExpansionSite, expander

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("idle-while-remover", "while", always=True)
def state_of_idle(site: ExpansionSite) -> Instruction | None:
    """Replaces a while whose body hands its state on by the initial state.

    As in C++, a loop without effects is taken to end.
    """
    return site.instr.operands[0] if is_idle(site.instr) else None
