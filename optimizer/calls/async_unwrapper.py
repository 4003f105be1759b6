"""Turns computations that run beside others into calls.

    start = ((a), r) async-start(x), calls=f
    update = ((a, b), r) async-update(start, y)  =>
    ROOT done = r async-done(update)                  ROOT done = r call(x, y), to_apply=f

What runs beside others can't be simplified together with them, and our kernels use all cores for
one after the other. A call can be inlined. `async-wrapper` goes the other way, where instructions
are to run beside others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.element_type import BUFFER
from hlo.walk import names_of, rebuild, rebuild_module
from optimizer.effects import without
from optimizer.make import make
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class AsyncUnwrapper:
    """Replaces async-start, async-update and async-done by calls.

    References
    ----------
    XLA, `HloAsyncInstruction` in `xla/hlo/ir/hlo_instructions.h`, for what they mean.
    """

    name = "async-unwrapper"

    def run(self, module: Module, log: Log) -> Module:
        """The module without async computations that start and end in one computation."""
        names = names_of(module)

        def change(computation: Computation) -> Computation:
            plan: dict[Instruction, Instruction] = {}
            gone: set[str] = set()
            for done in computation.instructions:
                chain = chain_to(done) if done.opcode == "async-done" else []
                if not chain or chain[0].opcode != "async-start" or _has_buffers([*chain, done]):
                    continue
                made = call(chain, done)
                new = made.with_(name=names.unique(done.name), annotations=done.annotations)
                if log.rewrite("unwrap", done, new):
                    plan[done] = new
                    gone.update(i.name for i in (*chain, done))
            # By name: what starts with the end of another chain is rebuilt itself.
            rebuilt = rebuild(computation, plan)
            return without(rebuilt, [i for i in rebuilt.instructions if i.name in gone])

        return rebuild_module(module, change)


def chain_to(done: Instruction) -> list[Instruction]:
    """From the start on to the last update; each is used by the next one alone."""
    chain = [done.operands[0]]
    while chain[0].opcode == "async-update":
        chain.insert(0, chain[0].operands[0])
    return chain


def _has_buffers(chain: list[Instruction]) -> bool:
    """Whether a buffer goes in or out: what runs beside others may take one, a call may not."""
    return any(leaf.element_type is BUFFER for i in chain for _, leaf in i.shape.leaves())


def call(chain: list[Instruction], done: Instruction) -> Instruction:
    """A call of what is started, with all operands that the start and updates bind."""
    start, *updates = chain
    later = [operand for update in updates for operand in update.operands[1:]]
    return make("call", *start.operands, *later, shape=done.shape, called=start.called)
