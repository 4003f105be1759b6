"""Whether calls of a program are short, and whether they have effects: see `shim/queue.c`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hlo.attributes import CustomCall
from hlo.opcode import having
from hlo_jax.engines.callbacks import SHARDS, WHOLE
from optimizer.analysis.cost import module_cost

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module

# Bytes and operations of a call that takes about 20 us, twice the time of handing it to a thread.
SHORT: Final = 1 << 17
# Their cost is not known before they run, or is not counted.
_UNKNOWN = {"while", "call", "conditional", "custom-call", "sort", "fft", "scatter", "scan"}


def is_short(module: Module) -> bool:
    """Whether a call is known to take so little time that nobody gains by doing it later."""
    if any(instr.opcode in _UNKNOWN for instr in module.instructions()):
        return False
    cost = module_cost(module)
    return cost.flops + 16 * cost.transcendentals + cost.bytes_accessed < SHORT


def has_effects(module: Module) -> bool:
    """Whether calls do more than compute results: such as call a function of their user."""
    return any(map(_has_visible_effect, module.instructions()))


def _has_visible_effect(instr: Instruction) -> bool:
    """Whether others notice when it runs. Unlike in `hlo.effects`, other devices do not count."""
    if isinstance(instr.attrs, CustomCall):
        callback = instr.attrs.custom_call_target in (WHOLE, SHARDS)
        return callback or instr.attrs.custom_call_has_side_effect
    return instr.opcode in _EFFECTS


_EFFECTS = having("effect")
