"""Common subexpression elimination: keeps the first of several equal instructions.

Two instructions are equal if they have the same opcode, operands, attributes and called
computations (see `optimizer.identity`) and no effects. Operands count as equal when they were found
equal themselves, so equal chains fall together in one sweep. Channels of collectives may differ:
they only tell one meeting of devices from another one, and every device leaves out the same one.

    a = f32[4] exponential(x)          a = f32[4] exponential(x)
    b = f32[4] exponential(x)
    ROOT c = f32[4] add(a, b)          ROOT c = f32[4] add(a, a)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hlo.effects import has_effect, only_exchanges, ordered, without_dead, without_named
from hlo.opcode import COMPILE_TIME
from hlo.walk import rebuild, rebuild_module
from optimizer.identity import Identity, reads_layouts
from optimizer.passes import register

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class Cse:
    """Replaces instructions by equal ones before them.

    Attributes
    ----------
    is_layout_sensitive : instructions whose layouts differ are not equal. Beside a bitcast, which
        reads memory in the order of a layout, they never are.
    """

    name = "cse"
    xla = "xla/service/hlo_cse.cc"
    is_layout_sensitive: bool = False

    def run(self, module: Module, log: Log) -> Module:
        """The module without repetitions."""
        identities = {
            sensitive: Identity(is_layout_sensitive=sensitive, is_channel_sensitive=False)
            for sensitive in (False, True)
        }

        def change(computation: Computation) -> Computation:
            tied = ordered(computation)

            def is_eligible(instr: Instruction) -> bool:
                return instr not in tied and (not has_effect(instr) or only_exchanges(instr))

            identity = identities[self.is_layout_sensitive or reads_layouts(computation)]
            plan = repetitions(computation, is_eligible, identity, log)
            met = {instr.name for instr in plan if only_exchanges(instr)}
            unique = without_named(rebuild(computation, plan), met)
            if unique is computation:
                return computation
            # Instructions that use the new root are dead: nothing may use the root of a fusion.
            is_used = any(unique.root in instr.operands for instr in unique.instructions)
            return without_dead(unique) if is_used else unique

        return rebuild_module(module, change)


def is_candidate(instr: Instruction) -> bool:
    """Whether an instruction can repeat another one: leaves such as parameters cannot."""
    return bool(instr.operands) or instr.opcode in COMPILE_TIME


def repetitions(
    computation: Computation,
    is_eligible: Callable[[Instruction], bool],
    identity: Identity,
    log: Log,
) -> dict[Instruction, Instruction]:
    """For each instruction that repeats an earlier one, the earlier one.

    Parameters
    ----------
    is_eligible : whether an instruction may be replaced, and replace others.
    """
    plan: dict[Instruction, Instruction] = {}
    # A full key takes long to compute, and few instructions share even opcode, sizes and operands
    # with another one. So the first of such a kind waits here for the second one, without its key.
    kinds: dict[Any, Instruction | None] = {}
    first: dict[Any, Instruction] = {}
    # Equal instructions get the number of the first one.
    number: dict[Instruction, int] = {}
    for i, instr in enumerate(computation.instructions):
        number[instr] = i
        if not is_candidate(instr):
            continue
        kind = instr.opcode, instr.shape.dims, tuple(sorted([number[o] for o in instr.operands]))
        if kind not in kinds:
            kinds[kind] = instr
            continue
        if (other := kinds[kind]) is not None:
            kinds[kind] = None
            if is_eligible(other):
                first[identity.key(other, number)] = other
        if not is_eligible(instr):
            continue
        earlier = first.setdefault(identity.key(instr, number), instr)
        if earlier is not instr and log.rewrite("equal", instr, earlier):
            plan[instr] = earlier
            number[instr] = number[earlier]
    return plan
