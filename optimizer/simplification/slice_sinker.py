"""Slices the result of an elementwise instruction, not its operands, where that is less work.

    a = f32[9] slice(p), slice={[0:9]}        s = f32[10] add(p, p)
    b = f32[8] slice(p), slice={[2:10]}       c = f32[9] slice(s), slice={[0:9]}
    c = f32[9] add(a, a)                      d = f32[8] slice(s), slice={[2:10]}
    d = f32[8] add(b, b)

That is 10 sums, not 17; and where slices do not overlap it is one instruction, not several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hlo.walk import Plan, names_of, rebuild
from optimizer.effects import ordered, without_dead
from optimizer.passes import register
from optimizer.rewriting.settle import settle
from optimizer.rewriting.sites import rebuild_unfused

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class SliceSinker:
    """Sinks slices past groups of equal elementwise instructions."""

    name = "slice-sinker"
    xla = "xla/hlo/transforms/simplifiers/slice_sinker.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with slices after what is done element by element."""
        names = names_of(module)

        def change(computation: Computation) -> Computation:
            return settle(computation, lambda c: sunk(c, names, log))

        return rebuild_unfused(module, change)


def sunk(computation: Computation, names: NameSupply, log: Log) -> Computation:
    """A computation with the slices of each group sunk once."""
    tied = ordered(computation)
    groups: dict[Any, list[Instruction]] = {}
    for instr in computation.instructions:
        if instr not in tied and is_on_equal_slices(instr):
            sources = tuple([o.operands[0] for o in instr.operands])
            key = instr.opcode, instr.attrs, instr.shape.element_type, sources
            groups.setdefault(key, []).append(instr)
    plan: Plan = {}
    for group in groups.values():
        whole = on_sources(group[0], names)
        # Never more elements than before.
        if sum(i.shape.size for i in group) < whole.shape.size:
            continue
        if log.rewrite("sink", group[0], whole):
            for instr in group:
                name, slices = names.unique("slice"), instr.operands[0]
                operands, notes = (whole,), instr.annotations
                plan[instr] = slices.with_(
                    name=name, operands=operands, shape=instr.shape, annotations=notes
                )
    return without_dead(rebuild(computation, plan)) if plan else computation


def is_on_equal_slices(instr: Instruction) -> bool:
    """Whether all operands of an elementwise instruction are the same slice of some arrays."""
    if not instr.row.elementwise or instr.called or not instr.operands:
        return False
    if instr.shape.is_dynamic or any(o.opcode != "slice" for o in instr.operands):
        return False
    forms = {(o.attrs, o.shape.dims, o.operands[0].shape.dims) for o in instr.operands}
    return len(forms) == 1 and not any(o.operands[0].shape.is_dynamic for o in instr.operands)


def on_sources(instr: Instruction, names: NameSupply) -> Instruction:
    """The same instruction on all of the arrays that are sliced."""
    sources = tuple([o.operands[0] for o in instr.operands])
    return instr.with_(
        name=names.unique(instr.opcode),
        operands=sources,
        shape=sources[0].shape.with_type(instr.shape.element_type),
        annotations=instr.annotations.inherited(),
    )
