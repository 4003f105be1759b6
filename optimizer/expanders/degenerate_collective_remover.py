"""Removes collectives of a device that is alone: what it brings is all that there is.

all-reduce(x), replica_groups={{0}}                    =>   x
collective-permute(x), source_target_pairs={{1,0}}     =>   broadcast(0)
all-gather-done((x, y) all-gather-start(x))            =>   y

A module that names other devices stays; if it runs on one device all the same, so do a collective
whose group names others, and one whose result has the size of several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.errors.error import HloError
from hlo.opcode import DONE_OF
from interpreter.engine.device import Device
from interpreter.groups import devices_named, find_group, group_of, permute_pairs
from optimizer.expanders.op_expander import ExpansionSite, expand
from optimizer.passes import register
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class DegenerateCollectiveRemover:
    """Replaces collectives by their operands in a module for one device.

    Attributes
    ----------
    alone : let the module run on one device, whatever its header says.
    """

    alone: bool = False
    name = "degenerate-collective-remover"
    xla = "xla/service/all_reduce_simplifier.cc, and what its thunks do where IsDegenerate"

    @property
    def devices(self) -> int | None:
        """The only number of devices on which values stay; None for as many as a module names."""
        return 1 if self.alone else None

    def run(self, module: Module, log: Log) -> Module:
        """The module without communication; the same one if it names several devices."""
        said = module.header.replica_count * module.header.num_partitions
        if max(said, devices_named(module)) > 1 and not self.alone:
            return module
        module = expand(module, log, {**ALONE, **ENDS}, always=True)
        used = {operand for instr in module.instructions() for operand in instr.operands}

        def begin(site: ExpansionSite) -> Instruction | None:
            return None if site.instr in used else STARTS[site.instr.opcode](site)

        return expand(module, log, dict.fromkeys(STARTS, begin), always=True)


def is_alone(instr: Instruction) -> bool:
    """Whether the first device is in one of an instruction's groups, all by itself."""
    attrs = a.Collective.of(instr)
    try:
        return bool(group_of(Device(), instr, attrs))
    except HloError:
        return False


def _value(operands: Sequence[Instruction]) -> Instruction:
    """One operand, or the tuple of several."""
    return operands[0] if len(operands) == 1 else make("tuple", *operands)


def _copies(instr: Instruction, result: Shape) -> bool:
    """Whether a result has the operands' sizes."""
    return [o.shape.dims for o in instr.operands] == [leaf.dims for _, leaf in result.leaves()]


def hand_on(site: ExpansionSite) -> Instruction | None:
    """all-reduce, all-gather, all-to-all, reduce-scatter: the operands."""
    instr, operands = site.instr, site.instr.operands
    if not is_alone(instr) or not _copies(instr, instr.shape):
        return None
    # One operand may have a tuple of one as its result.
    return make("tuple", *operands) if instr.shape.is_tuple else operands[0]


def hear(site: ExpansionSite) -> Instruction | None:
    """collective-broadcast: the operands, of the group's first member; zeros without a group."""
    attrs = a.CollectiveBroadcast.of(site.instr)
    operands = list(site.instr.operands)
    if attrs.has_dynamic_root:
        operands.pop()
    try:
        is_member = bool(find_group(Device(), site.instr, attrs))
    except HloError:
        return None
    if not is_member:
        operands = [splat(0, o.shape) for o in operands]
    return make("tuple", *operands) if site.instr.shape.is_tuple else operands[0]


def permute(site: ExpansionSite) -> Instruction | None:
    """collective-permute: the operands if the device sends to itself; zeros if nobody sends."""
    attrs = a.CollectivePermute.of(site.instr)
    if attrs.slice_sizes:
        return None
    operands = site.instr.operands
    if permute_pairs(Device(), attrs):
        return _value(operands)
    return _value([splat(0, o.shape) for o in operands])


def gather_start(site: ExpansionSite) -> Instruction | None:
    """all-gather-start yields its operands, and the results."""
    if not is_alone(site.instr) or not _copies(site.instr, site.instr.shape.elements[1]):
        return None
    both = _value(site.instr.operands)
    return make("tuple", both, both)


def permute_start(site: ExpansionSite) -> Instruction | None:
    """collective-permute-start yields its operands, the results, and contexts without meaning."""
    result, shape = permute(site), site.instr.shape
    if result is None or not shape.is_tuple:
        return result
    contexts = [splat(0, context) for context in shape.elements[2:]]
    return make("tuple", _value(site.instr.operands), result, *contexts)


def finish(site: ExpansionSite) -> Instruction | None:
    """The value of a done: it comes after the operands in the tuple of its start."""
    start = site.instr.operands[0]
    begin = STARTS.get(start.opcode)
    begun = begin and begin(ExpansionSite(start, site.names))
    if not begun or not start.shape.is_tuple or start.opcode == "all-reduce-start":
        return begun or None
    return begun.operands[1]


# The value of each where a group has one member.
ALONE = {
    **dict.fromkeys(("all-gather", "all-reduce", "all-to-all", "reduce-scatter"), hand_on),
    "collective-broadcast": hear,
    "collective-permute": permute,
}
STARTS = {
    "all-gather-start": gather_start,
    "all-reduce-start": hand_on,
    "collective-permute-start": permute_start,
}
ENDS = {DONE_OF[start]: finish for start in STARTS}
