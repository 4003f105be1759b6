"""Computes the elementwise operands of a product as its tiles are read: the *prologue*.

    f = f32[64,64] convert(x)                 fused { f = convert(x)
    d = f32[64,64] dot(f, w)        =>                d = dot(f, w)
    t = f32[64,64] tanh(d)                            ROOT t = tanh(d) }
                                              ROOT g = f32[64,64] fusion(x, w), kind=kCustom

The operand `f` is never in memory, which saves writing it and reading it once more; a tile of it is
computed anew for each tile of the other operand. That pays where the operand takes fewer bytes
before, as weights of eight bits do, and no library would compute the product faster by more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo.effects import ordered, without_dead
from hlo.opcode import having
from hlo.walk import names_of, users
from optimizer.analysis.cost import TRANSCENDENTAL, operations
from optimizer.fusion.build import fused
from optimizer.gpu.device import A100
from optimizer.libraries.dot_library_rewriter import epilogue
from optimizer.libraries.library import GPU, configuration
from optimizer.passes import register
from optimizer.rewriting.sites import SiteRewrites, rebuild_unfused, rewrite_sites

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log

# Not worth to be computed again for each tile.
_HARD = TRANSCENDENTAL | {"divide", "remainder"}
# A kernel of our own, as if it were a library: it can do all that is elementwise.
_TILES = replace(GPU, epilogues=frozenset(having("elementwise")), steps=8)


@register
@dataclass(frozen=True)
class TritonGemmRewriter:
    """Makes fusions of products with elementwise prologues and epilogues."""

    name = "triton-gemm-rewriter"
    xla = "xla/backends/gpu/transforms/gemm_fusion.cc, with a cost in the place of tuning"

    def run(self, module: Module, log: Log) -> Module:
        """The module with fusions of products."""
        names = names_of(module)

        def visit(computation: Computation, rewrites: SiteRewrites) -> None:
            using, taken = users(computation), ordered(computation)
            for instr in computation.instructions:
                if instr.opcode != "dot" or instr in taken:
                    continue
                before = prologue(instr, using, taken | {computation.root})
                if not before or not pays(instr, before):
                    continue
                after = epilogue(instr, computation, using, _TILES, taken | set(before))
                members = operands_first(before, instr, after)
                alone = [m for m in members if m.opcode not in ("broadcast", "constant")]
                fusion = fused(members, members[-1:], names, alone, "kCustom")
                config = configuration("__triton_gemm")
                new = fusion.with_(annotations=replace(fusion.annotations, backend_config=config))
                if rewrites.add("prologue", members[-1], new):
                    taken |= set(alone)

        return rewrite_sites(module, log, visit, rebuild_unfused, without_dead)


def prologue(
    dot: Instruction,
    using: Mapping[Instruction, Sequence[Instruction]],
    taken: AbstractSet[Instruction],
) -> list[Instruction]:
    """The prologue of a product: the steps on its operands alone, operands first.

    Parameters
    ----------
    taken : what is part of something else.
    """
    inside = {dot}
    stack = list(dot.operands)
    while stack:
        instr = stack.pop()
        cheap = instr.row.elementwise and instr.opcode not in _HARD
        spread = instr.opcode == "broadcast"
        if instr in taken or not (cheap or spread) or instr.control_predecessors:
            continue
        if inside.issuperset(using[instr]):
            inside.add(instr)
            stack += instr.operands
    steps: list[Instruction] = []
    stack = [dot]
    while stack:
        instr = stack.pop()
        steps += [o for o in instr.operands if o in inside or o.opcode == "constant"]
        stack += [o for o in instr.operands if o in inside]
    ordered_found = list(dict.fromkeys(reversed(steps)))
    # A broadcast alone is the rewriters' of products.
    return ordered_found if any(i.row.elementwise for i in ordered_found) else []


def operands_first(
    before: Sequence[Instruction], dot: Instruction, after: Sequence[Instruction]
) -> list[Instruction]:
    """A product between its prologue and epilogue, of which it may need a splat, too."""
    needed: set[Instruction] = set()
    stack = [*before, dot]
    while stack:
        above = [o for o in stack.pop().operands if o in after and o not in needed]
        needed.update(above)
        stack += above
    splats = [instr for instr in after if instr in needed]
    return [*splats, *before, dot, *(instr for instr in after if instr not in needed)]


def pays(dot: Instruction, before: Sequence[Instruction]) -> bool:
    """Whether the memory that is spared takes longer than a library would win on the product."""
    outer = {o for i in before for o in i.operands if o not in before}
    operands = [o for o in dict.fromkeys(dot.operands) if o in before]
    stored, read = (sum(o.shape.unpacked_bytes for o in some) for some in (operands, outer))
    if read >= stored:
        return False
    spared = 2 * stored / A100.memory + A100.launch * len(operands)
    library = GPU.decide(dot)
    flops, _ = operations(dot)
    lost = flops / GPU.loops - GPU.call - flops / GPU.flops if library else 0.0
    return spared > lost
