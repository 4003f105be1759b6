"""Makes a call of a fusion that a kernel cannot compute.

fusion(x), calls=f   =>   call(x), to_apply=f        where f has a while
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import CompositeCall
from optimizer.expanders.op_expander import ExpansionSite, expander

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("fusion-to-call", "fusion", always=True)
def called(site: ExpansionSite) -> Instruction | None:
    """Replaces a fusion with a while by a call: a kernel runs no loops of other kernels."""
    if "while" not in site.instr.called[0].opcodes:
        return None
    return site.instr.with_(opcode="call", attrs=CompositeCall())
