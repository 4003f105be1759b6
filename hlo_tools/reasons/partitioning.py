"""Reasons for a sharding: who decided each dimension, and what collectives bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.opcode import FORWARDING, TUPLES
from hlo.write.sharding_print import print_sharding
from optimizer.instruction_lookup import instruction_named
from optimizer.partitioning.resharding import way
from optimizer.partitioning.sharding_rules import PASS_THROUGH, REDUCTION, rule_of
from optimizer.partitioning.spmd_partitioning import divided
from optimizer.topology.rounds import bytes_moved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Instruction, Module
    from optimizer.partitioning.building import Plan
    from optimizer.partitioning.flow import Link, Node
    from optimizer.partitioning.sharding_rules import Factor
    from optimizer.partitioning.spmd_partitioning import Division

# Instructions that pass arrays on, or run computations of their own.
_NO_WORK = TUPLES | FORWARDING | {"call", "conditional", "reshape", "while"}


def why_sharded(module: Module, name: str, target: str = "cpu") -> str:
    """The decisions that cut an instruction's arrays, and the bytes that devices send for it.

    Parameters
    ----------
    name : of an instruction, with or without "%".
    target : has no influence.

    Raises
    ------
    HloError
        HLO158 if there is no such instruction, or if the program says nothing of several devices.
    """
    del target
    division = divided(module, entry=True)
    if division is None:
        notes = ["it needs several devices, and a sharding that cuts an array"]
        raise HloError("HLO158", "the program has no shardings: nothing is cut", notes=notes)
    leaves = division.analysis.flow.leaves
    asked = next((i for i in module.instructions() if i.name == name.removeprefix("%")), None)
    if asked and asked.opcode == "call":
        body = asked.called[0].name
        notes = [f"what it calls takes its place: ask about an instruction of %{body}"]
        raise HloError("HLO158", f"`{asked.name}` is a call, which is not divided", None, notes)
    written = {i.name for i in module.instructions()}
    known = [i for i in leaves if i.name in written]
    instr = instruction_named(name, known, module, "no instruction {} is divided")
    lines: list[str] = []
    nodes = dict.fromkeys(leaves[instr].values())
    for node in nodes:
        lines += _array(division, node, instr, several=len(nodes) > 1)
    lines += _work(division, instr)
    if instr is division.source.entry.root:
        wanted = [
            print_sharding(division.analysis.reader.sharding(c))
            for c in division.analysis.results.values()
        ]
        lines.append(f"  as the module's result it is wanted {', '.join(wanted)}")
    moved = [new for _, old, new in division.devices.notes if old is instr]
    grid = division.program.header.replica_count, division.analysis.reader.devices
    for new in moved:
        brought = f"{bytes_moved(new, grid):,} bytes to each device"
        lines.append(f"  {new.opcode} %{new.name} {new.shape.text_without_layout}: {brought}")
    if not moved:
        lines.append("  no collective is needed for it")
    return "\n".join(lines)


def _array(division: Division, node: Node, instr: Instruction, *, several: bool) -> Iterator[str]:
    """The parts of an array, and who decided each dimension."""
    analysis = division.analysis
    shape, cut = analysis.flow.shapes[node], analysis.propagation.cuts[node]
    path = "".join(f"{{{n}}}" for n in node[1]) if several else ""
    text = print_sharding(analysis.reader.sharding(cut))
    if not shape.is_array:
        yield f"%{instr.name}{path}: {shape} is no array, and is not cut"
        return
    part = cut.local(shape)
    yield (
        f"%{instr.name}{path}: {shape.text_without_layout} is {text}: each device has "
        f"{part.text_without_layout}, {part.bytes:,} of {shape.bytes:,} bytes"
    )
    for dim, axis in enumerate(cut.dims):
        if axis:
            yield f"  dimension {dim} in {axis.count} blocks: {_because(division, node, dim)}"
    if not any(cut.dims):
        yield f"  {_why_whole(division, node)}"


def _because(division: Division, node: Node, dim: int) -> str:
    """The chain of instructions from which a dimension has its axis."""
    steps: list[str] = []
    seen: set[tuple[Node, int]] = set()
    because = division.analysis.propagation.because
    while (node, dim) in because and (node, dim) not in seen:
        seen.add((node, dim))
        link, source = because[node, dim]
        steps.append(_step(link, node, source, dim))
        node, dim = source, _same_dimension(division, link, node, source, dim)
    wish = division.analysis.propagation.wishes.get(node)
    end = "so says the program" if wish else "so cut from the start"
    steps.append(f"{end} of {_place(node)}")
    return ", ".join(steps)


def _step(link: Link, node: Node, source: Node, dim: int) -> str:
    if link.instr is None:
        return f"as {_named(source)}, which is handed on"
    instr = link.instr
    operands = [n for n in link.operands if n]
    relation = "its operand" if source in operands and node not in operands else "its user's result"
    if source in operands and node in operands:
        relation = f"the other operand of %{instr.name},"
    kinds = [f.kind for f in link.rule if _dim_of(link, f, node) == dim]
    kind = f", {kinds[0]}" if kinds and kinds[0] != PASS_THROUGH else ""
    return f"as {relation} {_named(source)} (rule of {instr.opcode}{kind})"


def _dim_of(link: Link, factor: Factor, node: Node) -> int | None:
    """The dimension of a node that a factor runs over."""
    nodes = (*link.operands, *link.results)
    for one, d in zip(nodes, (*factor.operands, *factor.results), strict=True):
        if one == node and d is not None:
            return d
    return None


def _same_dimension(division: Division, link: Link, node: Node, source: Node, dim: int) -> int:
    """The dimension of another node from which one has its axis."""
    for factor in link.rule:
        if _dim_of(link, factor, node) == dim:
            there = _dim_of(link, factor, source)
            if there is not None:
                return there
    # A reshape, or the border of a region: the dimension with these blocks, or any that is cut.
    cuts = division.analysis.propagation.cuts
    dims = [d for d, axis in enumerate(cuts[source].dims) if axis]
    return next((d for d in dims if cuts[source].dims[d] == cuts[node].dims[dim]),
                dims[0] if dims else 0)  # fmt: skip


def _named(node: Node) -> str:
    instr, path = node
    if path and path[0] < 0:
        return "the module's result"
    return f"%{instr.name}" + "".join(f"{{{n}}}" for n in path)


def _place(node: Node) -> str:
    span = node[0].span
    return f"{_named(node)}, {span.source.name}:{span.line}" if span else _named(node)


def _why_whole(division: Division, node: Node) -> str:
    """The reason why each device has all of an array."""
    wish = division.analysis.propagation.wishes.get(node)
    shape = division.analysis.flow.shapes[node]
    if division.analysis.propagation.cuts[node].summed:
        return "devices have summands of it"
    if wish and not wish.open:
        if node[0].opcode == "parameter" and node[0].annotations.sharding is None:
            return "whole: it has no sharding, and the header lets propagation choose none"
        return f"whole: so says the program of {_place(node)}"
    if not shape.rank:
        return "whole: a scalar has no dimension to cut"
    return "whole: no operand and no user that is cut has a dimension in common with it"


def _work(division: Division, instr: Instruction) -> Iterator[str]:
    """The sharing of an instruction's work, and the transfers for it."""
    plan = division.devices.plans.get(instr)
    if plan is not None:
        yield from _operands(division, instr, plan)
        yield from _sums(instr, plan)
        yield from _results(division, instr, plan)
    elif instr.operands and instr.opcode not in _NO_WORK:
        yield "  each device computes all of it"


def _operands(division: Division, instr: Instruction, plan: Plan) -> Iterator[str]:
    """Operands that are cut otherwise than they are held."""
    cuts, leaves = division.analysis.propagation.cuts, division.analysis.flow.leaves
    said = division.analysis.reader.sharding
    for number, (operand, cut) in enumerate(zip(instr.operands, plan[0], strict=True)):
        node = leaves[operand].get(())
        if cut is None or node is None or cut == cuts[node]:
            continue
        steps = [s.opcode for s in way(cuts[node], cut, operand.shape.dims).steps]
        yield (
            f"  operand {number}, %{operand.name}, is {print_sharding(said(cuts[node]))}, and "
            f"taken {print_sharding(said(cut))}: {', '.join(steps) or 'nothing to do'}"
        )


def _sums(instr: Instruction, plan: Plan) -> Iterator[str]:
    """Dimensions that are cut, and summed over."""
    for factor in rule_of(instr):
        pairs = zip(factor.operands, plan[0], strict=True)
        counts = [a.count for d, cut in pairs if d is not None and cut and (a := cut.dims[d])]
        if factor.kind == REDUCTION and counts:
            over = zip(factor.operands, instr.operands, strict=True)
            dims = ", ".join(f"{d} of %{o.name}" for d, o in over if d is not None)
            count = max(counts)
            yield f"  it sums over dimension {dims} in {count} blocks: each device sums its own"


def _results(division: Division, instr: Instruction, plan: Plan) -> Iterator[str]:
    """Results that are wanted otherwise than they are computed."""
    cuts, said = division.analysis.propagation.cuts, division.analysis.reader.sharding
    for node, cut in zip(division.analysis.flow.leaves[instr].values(), plan[1], strict=True):
        shape = division.analysis.flow.shapes[node]
        if shape.is_array and cut != cuts[node]:
            steps = ", ".join(s.opcode for s in way(cut, cuts[node], shape.dims).steps)
            yield (
                f"  it is computed {print_sharding(said(cut))}, and wanted "
                f"{print_sharding(said(cuts[node]))}: {steps or 'nothing to do'}"
            )
