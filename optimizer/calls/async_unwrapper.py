"""Iterations computations that run beside others into calls.

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

from hlo.effects import without
from hlo.types.element_type import BUFFER
from hlo.walk import names_of, rebuild, rebuild_module
from optimizer.passes import register
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class AsyncUnwrapper:
    """Replaces async-start, async-update and async-done by calls."""

    name = "async-unwrapper"
    xla = "HloAsyncInstruction in xla/hlo/ir/hlo_instructions.h, for what they mean"

    def run(self, module: Module, log: Log) -> Module:
        """The module without async computations that start and end in one computation."""
        names = names_of(module)

        def change(computation: Computation) -> Computation:
            # Besides replacements, others are tied anew and chains are taken away, so this is
            # no rewrite of sites alone.
            plan: dict[Instruction, Instruction] = {}
            ends: dict[Instruction, Instruction] = {}
            for done in computation.instructions:
                chain = chain_to(done) if done.opcode == "async-done" else []
                if not chain or not _can_be_called(chain, done):
                    continue
                called = call(chain, done)
                new = called.with_(name=names.unique(done.name), annotations=done.annotations)
                if log.rewrite("unwrap", done, new):
                    plan[done] = new
                    ends |= dict.fromkeys([*chain, done], done)
            if not plan:
                return computation
            gone = {i.name for i in ends}
            # By name: a chain that starts with the end of another is rebuilt itself.
            rebuilt = rebuild(computation, plan | _waiting(computation, plan, ends))
            return without(rebuilt, [i for i in rebuilt.instructions if i.name in gone])

        return rebuild_module(module, change)


def chain_to(done: Instruction) -> list[Instruction]:
    """From the start on to the last update; each is used by the next one alone."""
    chain = [done.operands[0]]
    while chain[0].opcode == "async-update":
        chain.insert(0, chain[0].operands[0])
    return chain


def _can_be_called(chain: list[Instruction], done: Instruction) -> bool:
    """Whether a call may do the started operation.

    A call takes no buffers; and where what is started begins to send or to receive, and its value
    says what is under way, that would be ended several times once it is inlined.
    """
    start = chain[0]
    if start.opcode != "async-start":
        return False
    buffers = any(
        leaf.element_type is BUFFER for i in (*chain, done) for _, leaf in i.shape.leaves()
    )
    root = start.called[0].root
    return not buffers and all(i.opcode not in ("send", "recv") for i in (root, *root.operands))


def _waiting(
    computation: Computation,
    calls: Mapping[Instruction, Instruction],
    ends: Mapping[Instruction, Instruction],
) -> dict[Instruction, Instruction]:
    """The instructions that waited for one of some chains, or began one, and wait for calls now.

    A call runs where its chain ended. What came before that, and waited for the start alone, has
    nothing to wait for any more.

    Parameters
    ----------
    calls : by the end of the chain that each replaces.
    ends : by all instructions of these chains, their ends.
    """
    position = {instr: k for k, instr in enumerate(computation.instructions)}
    awaited: dict[Instruction, dict[Instruction, None]] = {}
    for instr in computation.instructions:
        waiting = ends.get(instr, instr)
        for before in instr.control_predecessors:
            end = ends.get(before, before)
            if position[end] < position[waiting]:
                awaited.setdefault(waiting, {})[end] = None
        if instr.control_predecessors:
            awaited.setdefault(waiting, {})
    return {
        instr: calls.get(instr, instr).with_(control_predecessors=tuple(before))
        for instr, before in awaited.items()
        if instr in calls or any(i in ends for i in instr.control_predecessors)
    }


def call(chain: list[Instruction], done: Instruction) -> Instruction:
    """A call of the started computation, with all operands that the start and updates bind."""
    start, *updates = chain
    later = [operand for update in updates for operand in update.operands[1:]]
    return make("call", *start.operands, *later, shape=done.shape, called=start.called)
