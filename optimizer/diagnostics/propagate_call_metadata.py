"""Puts the name of a call in front of the names of the called instructions.

    f { ROOT a = add(x, y), metadata={op_name="add"} }
    c = call(p, q), to_apply=f, metadata={op_name="jit(main)/layer"}

    f { ROOT a = add(x, y), metadata={op_name="jit(main)/layer/add"} }

So an instruction tells where in the user's program it came from even after inlining.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.opcode import CONTROL
from hlo.walk import called_first, callers
from optimizer.origin import op_name, renamed, under
from optimizer.passes import register
from optimizer.rewriting.sites import replace_each

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log

# Instructions in these belong to the caller of the computation where they are.
BRANCHES = CONTROL - {"call"}


@register
@dataclass(frozen=True)
class PropagateCallMetadata:
    """Prefixes the `op_name` of called instructions with that of the call.

    What several calls share has no one line of the user's program, and stays as it is.
    """

    name = "propagate-call-metadata"
    xla = "xla/hlo/transforms/propagate_call_metadata.cc, but for its stack frames"

    def run(self, module: Module, log: Log) -> Module:
        """The module with whole paths as names."""
        if not any("call" in computation.opcodes for computation in module.computations):
            return module
        paths = whole_paths(module)

        def prefixed(instr: Instruction) -> Instruction | None:
            path = paths.get(instr.name)
            if path is None:
                return None
            return instr.with_(annotations=renamed(instr.annotations, path))

        return replace_each(module, log, "prefix", prefixed)


def whole_paths(module: Module) -> dict[str, str]:
    """The new `op_name` of each instruction that gets another one, callers before callees."""
    sites, paths = callers(module), dict[str, str]()
    for computation in reversed(called_first(module.entry)):
        for call in computation.instructions:
            if call.opcode != "call":
                continue
            prefix = paths.get(call.name, op_name(call)).removesuffix("/")
            for instr in belonging(call, sites) if prefix else ():
                path = under(prefix, op_name(instr))
                if path != op_name(instr):
                    paths[instr.name] = path
    return paths


def belonging(call: Instruction, sites: dict[Computation, list[Instruction]]) -> list[Instruction]:
    """The instructions of a called computation, and of the loops and branches in it."""
    instructions: list[Instruction] = []
    pending = list(call.called)
    while pending:
        computation = pending.pop()
        if len(sites[computation]) > 1:
            continue
        instructions += computation.instructions
        pending += [c for i in computation.instructions if i.opcode in BRANCHES for c in i.called]
    return instructions
