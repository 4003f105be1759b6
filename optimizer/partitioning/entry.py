"""Parameters of which each device is given its part, and results of which it gives one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.attributes.annotations import NO_ANNOTATIONS, Annotations
from hlo.errors.error import HloError
from hlo.sharded import shards_of
from hlo.types.shape import tuple_of
from hlo.types.values import ComputationLayout
from hlo.walk import names_of, rebuild
from optimizer.expanders.op_expander import element
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from hlo.names import NameSupply
    from hlo.sharded import Shards
    from hlo.types.shape import Shape
    from hlo.types.sharding import Sharding


def _leaves(instr: Instruction) -> list[tuple[Shape, Sharding | None]]:
    """The arrays of a parameter or result, each with its sharding."""
    shape, sharding = instr.shape, instr.annotations.sharding
    if not shape.is_tuple:
        return [(shape, sharding)]
    shapes = shape.elements
    if sharding is None or sharding.kind != "tuple":
        return [(each, sharding) for each in shapes]
    if len(sharding.elements) != len(shapes) or any(s.is_tuple for s in shapes):
        message = f"{instr.name}: its sharding is not that of a tuple of {len(shapes)} arrays"
        raise HloError("HLO122", message, instr.span)
    return list(zip(shapes, sharding.elements, strict=True))


def _parts(instr: Instruction) -> list[Shards | None]:
    """The parts of each array of a parameter or result; None where each device has all of it."""
    found: list[Shards | None] = []
    for shape, sharding in _leaves(instr):
        parts = shards_of(sharding, shape.rank) if sharding and shape.is_array else None
        if sharding and sharding.tiles and not (parts and parts.cut_evenly(shape)):
            message = f"{instr.name}: its sharding does not cut {shape.text_without_layout} evenly"
            raise HloError("HLO122", message, instr.span)
        found.append(None if parts is None or parts.is_whole else parts)
    return found


def named_at_the_entry(module: Module) -> int:
    """The number of devices that hold parts of parameters or results."""
    ends = (*module.entry.parameters, module.entry.root)
    return max([len(p.places) for end in ends for p in _parts(end) if p], default=1)


def with_local_entry(module: Module) -> Module:
    """The module whose parameters are joined first, and whose results are cut at the end."""
    entry, names = module.entry, names_of(module)
    plan: dict[Instruction, Instruction] = {}
    for parameter in entry.parameters:
        parts = _parts(parameter)
        if any(parts):
            plan[parameter] = _joined(parameter, parts, names)
    parts = _parts(entry.root)
    if any(parts):
        plan[entry.root] = _cut(entry.root, plan.get(entry.root, entry.root), parts, names)
    if not plan:
        return module
    made = rebuild(entry, plan)
    layout = ComputationLayout(tuple(p.shape for p in made.parameters), made.root.shape)
    computations = tuple(made if c is entry else c for c in module.computations)
    header = replace(
        module.header, entry_computation_layout=layout, input_output_alias=(), buffer_donor=()
    )
    return replace(module, computations=computations, entry=made, header=header)


def _joined(parameter: Instruction, parts: list[Shards | None], names: NameSupply) -> Instruction:
    """The whole of a parameter that is a part."""
    leaves = _leaves(parameter)
    shapes = [p.local(s) if p else s for (s, _), p in zip(leaves, parts, strict=True)]
    local = parameter.with_(
        shape=tuple_of(*shapes) if parameter.shape.is_tuple else shapes[0],
        annotations=replace(parameter.annotations, sharding=None),
    )
    if not parameter.shape.is_tuple:
        return sharding_call("SPMDShardToFullShape", local, *leaves[0], names)
    values: list[Instruction] = []
    for index, ((shape, sharding), part) in enumerate(zip(leaves, parts, strict=True)):
        one = renamed(element(local, index), names)
        if part:
            one = sharding_call("SPMDShardToFullShape", one, shape, sharding, names)
        values.append(one)
    return renamed(make("tuple", *values), names)


def _cut(
    root: Instruction, whole: Instruction, parts: list[Shards | None], names: NameSupply
) -> Instruction:
    """The parts of a result."""
    values: list[Instruction] = []
    for index, ((shape, sharding), part) in enumerate(zip(_leaves(root), parts, strict=True)):
        one = renamed(element(whole, index), names) if root.shape.is_tuple else whole
        if part:
            one = sharding_call("Sharding", one, shape, sharding, names)
            one = sharding_call("SPMDFullToShardShape", one, part.local(shape), None, names)
        values.append(one)
    return renamed(make("tuple", *values), names) if root.shape.is_tuple else values[0]


def sharding_call(
    target: str, operand: Instruction, shape: Shape | None, sharding: Sharding | None,
    names: NameSupply,
) -> Instruction:  # fmt: skip
    """A custom call of GSPMD: it cuts an array, joins its parts, or says how it is to be cut."""
    made = make("custom-call", operand, shape=shape, custom_call_target=target)
    annotations = Annotations(sharding) if sharding else NO_ANNOTATIONS
    return renamed(made, names).with_(annotations=annotations)


def renamed(instr: Instruction, names: NameSupply) -> Instruction:
    """A new instruction with a name of its own."""
    return instr.with_(name=names.unique(instr.opcode))
