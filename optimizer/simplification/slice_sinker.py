"""Slices the result of an elementwise instruction, not its operands, where that is less work.

    a = f32[9] slice(p), slice={[0:9]}        s = f32[10] add(p, p)
    b = f32[8] slice(p), slice={[2:10]}       c = f32[9] slice(s), slice={[0:9]}
    c = f32[9] add(a, a)                      d = f32[8] slice(s), slice={[2:10]}
    d = f32[8] add(b, b)

That is 10 sums, not 17; and where slices do not overlap it is one instruction, not several.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from hlo.effects import ordered
from hlo.walk import names_of
from optimizer.passes import register
from optimizer.rewriting.settle import settle_sites

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from optimizer.log import Log
    from optimizer.rewriting.sites import SiteRewrites


@register
@dataclass(frozen=True)
class SliceSinker:
    """Sinks slices past groups of equal elementwise instructions."""

    name = "slice-sinker"
    xla = "xla/hlo/transforms/simplifiers/slice_sinker.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with slices after elementwise instructions."""
        return settle_sites(module, log, partial(sink, names_of(module)))


def sink(names: NameSupply, computation: Computation, found: SiteRewrites) -> None:
    """Sink the slices of each group once."""
    tied = ordered(computation)
    groups: dict[Any, list[Instruction]] = {}
    for instr in computation.instructions:
        if instr not in tied and is_on_equal_slices(instr):
            sources = tuple([o.operands[0] for o in instr.operands])
            key = instr.opcode, instr.attrs, instr.shape.element_type, sources
            groups.setdefault(key, []).append(instr)
    for group in groups.values():
        whole = on_sources(group[0], names)
        # Never more elements than before.
        if sum(i.shape.size for i in group) < whole.shape.size:
            continue
        plan = {i: on_whole(i, whole, names) for i in group}
        found.add("sink", group[0], whole, plan=plan)


def on_whole(instr: Instruction, whole: Instruction, names: NameSupply) -> Instruction:
    """The slice of a whole result that is the result of an instruction on slices."""
    return instr.operands[0].with_(
        name=names.unique("slice"),
        operands=(whole,),
        shape=instr.shape,
        annotations=instr.annotations,
    )


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
