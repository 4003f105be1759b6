"""A module as derivatives need it: one computation, but for those of loops and branches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import CompositeCall
from optimizer.calls.async_unwrapper import AsyncUnwrapper
from optimizer.calls.call_inliner import CallInliner
from optimizer.calls.map_inliner import MapInliner
from optimizer.expanders.op_expander import ExpansionSite, expand
from optimizer.log import Log
from optimizer.passes import find

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module

# Of fused instructions, these would leave some as they are.
AFTER_INLINING = "tiled-bitcast-expander", "bitcast-expander", "custom-call-expander"


def prepared(module: Module) -> Module:
    """The module without calls, fusions, maps and the like."""
    silent = Log()
    module = find("explicit-precision")().run(module, silent)
    module = AsyncUnwrapper().run(module, silent)
    module = find("scan_expander")().run(module, silent)
    module = expand(module, silent, {"fusion": called, "call": called}, always=True)
    module = CallInliner(limit=1 << 62).run(module, silent)
    for name in AFTER_INLINING:
        module = find(name)().run(module, silent)
    return MapInliner().run(module, silent)


def called(site: ExpansionSite) -> Instruction:
    """A plain call of a computation that is fused, or stands for a composite operation."""
    return site.instr.with_(opcode="call", attrs=CompositeCall())
