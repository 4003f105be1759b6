"""Inlines calls: the body of the called computation takes the place of the call.

    double { x = f32[] parameter(0)        ROOT y = f32[] add(p, p)
             ROOT y = f32[] add(x, x) }
    ROOT c = f32[] call(p), to_apply=double

What follows sees through the call then; and the body may be optimized for this caller alone. The
body's instructions get the call's `op_name` in front of their own, so that nothing of it is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.attributes import CompositeCall
from hlo.effects import has_effect
from hlo.walk import callers, names_of
from optimizer.calls.clone import copied_body, reachable
from optimizer.calls.unfolding import LIMIT, explodes
from optimizer.origin import op_name
from optimizer.passes import register
from optimizer.rewriting.sites import SiteRewrites, rewrite_sites

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class CallInliner:
    """Replaces calls by the bodies that they call.

    A composite call stays, for its name is what later passes look for; so does one on another
    thread, and one of a body with effects that its root does not need, which would be lost.

    Attributes
    ----------
    single_call_site : only computations that one instruction alone calls.
    limit : of instructions that this may add to a small module. Of more, all but those calls of
        `single_call_site` stay.
    """

    name = "inline"
    xla = "xla/service/call_inliner.cc"
    single_call_site: bool = False
    limit: int = LIMIT

    def run(self, module: Module, log: Log) -> Module:
        """The module without calls."""
        while any("call" in computation.opcodes for computation in module.computations):
            single = self.single_call_site or explodes(module, {"call"}, self.limit)
            after = self._inlined(module, log, single=single)
            # A dead call of a body is lost with it, and may have been the last one but one.
            if after is module or not single:
                return after
            module = after
        return module

    def _inlined(self, module: Module, log: Log, *, single: bool) -> Module:
        names = names_of(module)
        sites = {c.name: len(calling) for c, calling in callers(module).items()}

        def inlines(instr: Instruction, thread: str) -> bool:
            if instr.opcode != "call" or CompositeCall.of(instr).is_composite:
                return False
            body = instr.called[0]
            if body.execution_thread != thread:
                return False
            if single and sites.get(body.name, 1) > 1:
                return False
            needed = reachable(body)
            return all(i in needed or not has_effect(i) for i in body.instructions)

        def visit(computation: Computation, rewrites: SiteRewrites) -> None:
            for instr in computation.instructions:
                if not inlines(instr, computation.execution_thread):
                    continue
                before, path = instr.control_predecessors, op_name(instr)
                new = copied_body(instr.called[0], instr.operands, names, before, path)
                rewrites.add("inline", instr, *new, mixed=True)

        return rewrite_sites(module, log, visit)
