"""Hands products of matrices to a library, with their epilogues.

    d = f32[64,64] dot(x, w)                 fused { d = dot(x, w)
    b = f32[64,64] broadcast(bias)    =>             b = broadcast(bias)
    a = f32[64,64] add(d, b)                         ROOT a = add(d, b) }
                                             ROOT f = f32[64,64] fusion(x, w, bias), kind=kCustom

A library applies a bias, a scale or a clamp (the *epilogue*) before it stores the product, which
saves writing and reading it once more each. The fusion says what is computed, as HLO; its backend
configuration says by whom. The standard pipeline for GPUs does this as
`gemm-rewriter`; that for C does not, as our C knows dots.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.effects import ordered, without_dead
from hlo.opcode import SAME_ORDER
from hlo.walk import names_of, users
from optimizer.fusion.build import fused
from optimizer.fusion.policy import ELEMENTWISE, MOVEMENT
from optimizer.libraries.library import LIBRARIES, configuration
from optimizer.passes import register
from optimizer.rewriting.make import value_of
from optimizer.rewriting.sites import SiteRewrites, rebuild_unfused, rewrite_sites
from optimizer.rewriting.term import CONSTANT_OPCODES

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from hlo.instruction import Computation, Instruction, Module
    from optimizer.libraries.library import TargetLibrary
    from optimizer.log import Log

    Users = dict[Instruction, list[Instruction]]


@register
@dataclass(frozen=True)
class DotLibraryRewriter:
    """Makes fusions that a library runs.

    Attributes
    ----------
    target : whose library: a row of `library.LIBRARIES`.
    """

    name = "dot-library-rewriter"
    xla = "xla/backends/cpu/transforms/dot_library_rewriter.cc"
    target: str = "cpu"

    def run(self, module: Module, log: Log) -> Module:
        """The module with library fusions."""
        library, names = LIBRARIES[self.target], names_of(module)

        def visit(computation: Computation, rewrites: SiteRewrites) -> None:
            using, taken = users(computation), ordered(computation)
            for instr in computation.instructions:
                if instr in taken or not library.decide(instr):
                    continue
                steps = epilogue(instr, computation, using, library, taken)
                members = [instr, *steps]
                config = configuration(library.kinds[instr.opcode])
                alone = [m for m in members if m.opcode not in CONSTANT_OPCODES]
                fusion = fused(members, members[-1:], names, alone, "kCustom")
                origin = fusion.annotations.metadata or instr.annotations.metadata
                annotations = replace(fusion.annotations, metadata=origin, backend_config=config)
                new = fusion.with_(annotations=annotations)
                if rewrites.add("library", members[-1], new):
                    taken |= set(alone)

        return rewrite_sites(module, log, visit, rebuild_unfused, without_dead)


@register
@dataclass(frozen=True)
class GemmRewriter(DotLibraryRewriter):
    """Makes fusions that cuBLASLt runs, where that is there; kernels of ours run them elsewhere."""

    name = "gemm-rewriter"
    xla = "xla/service/gpu/transforms/gemm_rewriter.cc, which makes custom calls instead"
    target: str = "gpu"


def epilogue(
    start: Instruction,
    computation: Computation,
    using: Users,
    library: TargetLibrary,
    taken: AbstractSet[Instruction],
) -> list[Instruction]:
    """The epilogue of a product: the steps before it is stored, each after its operands.

    It ends before a step with an operand that would have to be stored for it, and is not if a loop
    computes the step.

    Parameters
    ----------
    taken : what other products have taken, and what control dependencies tie to others.
    """
    steps: list[Instruction] = []
    last = start
    for _ in range(0 if library.is_plain(start) else library.steps):
        step = next(iter(using[last]), None)
        if last is computation.root or len(using[last]) != 1 or step is None or step in taken:
            break
        others = [o for o in step.operands if o is not last]
        if step.opcode not in library.epilogues or step.shape.dims != start.shape.dims:
            break
        if len(others) != len(step.operands) - 1:
            break
        spread = [o for o in others if is_spread(o) and o not in taken]
        if any(is_computed_here(o, step, using) for o in others if o not in spread):
            break
        steps += [*(constant for o in spread for constant in _constants(o)), *spread, step]
        last = step
    return list(dict.fromkeys(steps))


def is_spread(operand: Instruction) -> bool:
    """Whether an operand is a number or a row for all rows: the library spreads it itself."""
    if operand.opcode != "broadcast" or operand.operands[0].control_predecessors:
        return False
    last = operand.shape.rank - 1
    return value_of(operand) is not None or operand.attrs.dimensions == (last,)  # type: ignore[attr-defined]


def is_computed_here(operand: Instruction, step: Instruction, using: Users) -> bool:
    """Whether a loop that computes a step could compute an operand, which nobody else needs."""
    while operand.opcode in SAME_ORDER and using[operand] == [step]:
        operand, step = operand.operands[0], operand
    return operand.opcode in ELEMENTWISE | MOVEMENT and using[operand] == [step]


def _constants(broadcast: Instruction) -> list[Instruction]:
    return [o for o in broadcast.operands if o.opcode == "constant"]
