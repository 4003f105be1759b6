"""Gives every sequential call a computation of its own.

A buffer, or a fact such as a trip count, belongs to one call site of the program. A loop body that
two loops share has two, so each loop gets a copy. Computations that are applied element by
element (`to_apply` of a reduce, a fusion's body) stay shared: they own no buffers.

    v = (s32[]) while(x), condition=c, body=b      v = (s32[]) while(x), condition=c, body=b
    w = (s32[]) while(y), condition=c, body=b      w = (s32[]) while(y), condition=c.1, body=b.1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.opcode import SEQUENTIAL
from hlo.walk import names_of
from optimizer.calls.clone import cloned
from optimizer.calls.unfolding import LIMIT, explodes
from optimizer.passes import register
from optimizer.rewriting.sites import SiteRewrites, rewrite_sites

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class FlattenCallGraph:
    """Clones computations until each has one sequential caller.

    Attributes
    ----------
    limit : of instructions that are cloned. A small module of which more would be is left as it is.
    """

    name = "flatten-call-graph"
    xla = "xla/service/flatten_call_graph.cc"
    limit: int = LIMIT

    def run(self, module: Module, log: Log) -> Module:
        """The module with a tree of sequential calls."""
        if explodes(module, SEQUENTIAL, self.limit):
            return module
        names = names_of(module)
        taken: set[Computation] = set()

        def own(computation: Computation) -> Computation:
            """The computation itself at its first call site, then copies of it."""
            if computation not in taken:
                taken.add(computation)
                return computation
            copy = cloned(computation, names, callees)
            # A copy has its caller too: a copy of that caller must copy it again.
            taken.add(copy)
            return copy

        def callees(instr: Instruction) -> tuple[Computation, ...]:
            if instr.opcode not in SEQUENTIAL:
                return instr.called
            return tuple([own(c) for c in instr.called])

        def visit(computation: Computation, rewrites: SiteRewrites) -> None:
            for instr in computation.instructions:
                if _is_shared(instr, taken) and not rewrites.add("clone", instr, plan={}):
                    continue
                called = callees(instr)
                if called != instr.called:
                    rewrites.plan[instr] = instr.with_(called=called)

        return rewrite_sites(module, log, visit)


def _is_shared(instr: Instruction, taken: set[Computation]) -> bool:
    """Whether an instruction calls a computation that is called elsewhere, or twice here."""
    called = set(instr.called)
    shared = not called.isdisjoint(taken) or len(called) < len(instr.called)
    return shared and instr.opcode in SEQUENTIAL
