"""Sinks constants that a loop carries unchanged into its body and condition.

    n = s32[] get-tuple-element(s), index=1        n = s32[] constant(10)
    ROOT go = compare(i, n), direction=LT          ROOT go = compare(i, n), direction=LT

Inside, what follows from the constant can be folded then. The element itself stays in the state;
the simplifier takes it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.walk import rebuild
from optimizer.loops.elements import is_known_constant
from optimizer.loops.site import LoopSite, transformed
from optimizer.loops.state import elements_taken
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class WhileLoopConstantSinking:
    """Sinks constants into the loops that use them.

    Attributes
    ----------
    sink_broadcast_of_constants : a scalar constant that is broadcast counts as one too.
    sink_only_scalar_constants : no constants with dimensions.
    """

    name = "while-loop-constant-sinking"
    xla = "xla/service/while_loop_constant_sinking.cc"
    sink_broadcast_of_constants: bool = False
    sink_only_scalar_constants: bool = False

    def run(self, module: Module, log: Log) -> Module:
        """The module with constants in its loops."""

        def sink(site: LoopSite) -> Instruction | None:
            loop = site.loop
            firsts = {i: loop.initial(i) for i in range(loop.size) if loop.is_invariant(i)}
            known = {i: c for i, c in firsts.items() if c is not None and self.sinks(c)}
            if not any(elements_to_sink(c, known) for c in loop.instr.called):
                return None
            called = [sunk(site, site.own(c), known) for c in loop.instr.called]
            return loop.instr.with_(called=tuple(called))

        return transformed(module, sink, log)

    def sinks(self, instr: Instruction) -> bool:
        """Whether an instruction is a constant that is sunk."""
        if self.sink_broadcast_of_constants and instr.opcode == "broadcast":
            return is_known_constant(instr.operands[0]) and not instr.operands[0].shape.dims
        return is_known_constant(instr) and not (
            self.sink_only_scalar_constants and instr.shape.dims
        )


def elements_to_sink(computation: Computation, known: dict[int, Instruction]) -> list[Instruction]:
    """The instructions that take a known element, not only in order to pass it on."""
    used = {o for i in computation.instructions if i is not computation.root for o in i.operands}
    if not computation.root.shape.is_tuple:
        used |= {computation.root, *computation.root.operands}
    return [t for t, i in elements_taken(computation).items() if i in known and t in used]


def sunk(site: LoopSite, computation: Computation, known: dict[int, Instruction]) -> Computation:
    """A computation with copies of constants in place of the elements that hold them."""
    elements, root = elements_taken(computation), computation.root
    plan: dict[Instruction, Instruction] = {}
    for taken in elements_to_sink(computation, known):
        first = known[elements[taken]]
        operands = tuple([copied(site, o) for o in first.operands])
        plan[taken] = copied(site, first).with_(operands=operands)
    if root.shape.is_tuple and plan:
        # The element is passed on as it is, so that it can be seen never to change.
        state = computation.parameters[0]
        operands = [site.element(state, elements[o]) if o in plan else o for o in root.operands]
        plan[root] = root.with_(operands=tuple(operands))
    return rebuild(computation, plan)


def copied(site: LoopSite, instr: Instruction) -> Instruction:
    """The same instruction under a name of its own."""
    return instr.with_(name=site.names.unique(instr.name))
