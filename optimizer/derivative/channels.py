"""Channels of collectives: each that talks to others needs one of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.walk import rebuild, rebuild_module

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module


def with_channels_of_their_own(module: Module) -> Module:
    """The module in which no two collectives share a channel."""
    taken: set[int] = set()
    for instr in module.instructions():
        taken.add(getattr(instr.attrs, "channel_id", None) or 0)
    seen: set[int] = set()

    def change(computation: Computation) -> Computation:
        plan: dict[Instruction, Instruction] = {}
        for instr in computation.instructions:
            channel = getattr(instr.attrs, "channel_id", None)
            if not channel or "collective" not in instr.row.traits:
                continue
            if channel in seen:
                channel = max(taken) + 1
                taken.add(channel)
                attrs = replace(instr.attrs, channel_id=channel)
                plan[instr] = instr.with_(attrs=attrs)
            seen.add(channel)
        return rebuild(computation, plan)

    return rebuild_module(module, change)
