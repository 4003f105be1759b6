"""Pairs of instructions in the place of one: the first starts it, the second waits for its result.

    r = f32[4] all-reduce(x), to_apply=add   =>   s = f32[4] all-reduce-start(x), to_apply=add
                                                  r = f32[4] all-reduce-done(s)

Some collectives have starting opcodes of their own; anything else is wrapped into a computation
that an `async-start` runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.attributes import CollectivePermute
from hlo.attributes.annotations import Annotations
from hlo.instruction import Computation
from hlo.opcode import DONE_OF, STARTS, having
from hlo.types.shape import tuple_of
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.names import NameSupply

# The opcodes of collectives that can be started by opcodes of their own.
TYPED = frozenset(start.removesuffix("-start") for start in having("collective") & STARTS)


def pair(instr: Instruction, names: NameSupply, backend_config: str = "") -> list[Instruction]:
    """The start and the done of an instruction; the done has its name if that is free to take.

    Parameters
    ----------
    backend_config : of the start.
    """
    opcode = f"{instr.opcode}-start" if instr.opcode in TYPED else "async-start"
    started = _typed(instr, opcode) if instr.opcode in TYPED else _wrapped(instr, names)
    annotations = replace(instr.annotations, backend_config=backend_config)
    start = replace(
        started,
        name=names.unique(f"{instr.opcode}-start"),
        control_predecessors=instr.control_predecessors,
        annotations=annotations,
        span=instr.span,
    )
    done = replace(
        make(DONE_OF[opcode], start, shape=instr.shape),
        name=names.unique(f"{instr.opcode}-done"),
        annotations=Annotations(instr.annotations.sharding, metadata=instr.annotations.metadata),
        span=instr.span,
    )
    return [start, done]


def _typed(instr: Instruction, opcode: str) -> Instruction:
    """A collective as its own starting opcode, which yields operands and results, or just these."""
    shape = instr.shape
    if opcode != "all-reduce-start":
        # Of a permute that works in place, the others are the arrays written to, and offsets.
        in_place = opcode == "collective-permute-start" and CollectivePermute.of(instr).slice_sizes
        operands = [o.shape for o in (instr.operands[:1] if in_place else instr.operands)]
        source = tuple_of(*operands) if len(operands) > 1 else operands[0]
        shape = tuple_of(source, shape)
    return replace(instr, opcode=opcode, shape=shape)


def _wrapped(instr: Instruction, names: NameSupply) -> Instruction:
    """An async-start of a computation that consists of one instruction."""
    parameters = [
        replace(make("parameter", number=i, shape=o.shape), name=names.unique("param"))
        for i, o in enumerate(instr.operands)
    ]
    root = replace(
        instr,
        name=names.unique(instr.opcode),
        operands=tuple(parameters),
        control_predecessors=(),
    )
    body = Computation(names.unique("async_computation"), (*parameters, root), root)
    operands = tuple_of(*(o.shape for o in instr.operands))
    return make(
        "async-start", *instr.operands, shape=tuple_of(operands, instr.shape), called=(body,)
    )
