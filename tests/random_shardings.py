"""Random shardings of random modules, for eight devices."""

from dataclasses import replace
from math import prod
from random import Random

import numpy as np

import hlo
from hlo.types.sharding import Sharding, TileAssignment
from hlo.walk import called_first, rebuild, rebuild_module

DEVICES = 8
# How often an array is sharded: a parameter or result of the program, and any other.
AT_THE_ENTRY, INSIDE = 0.7, 0.12


def sharded(module: hlo.Module, random: Random) -> hlo.Module:
    """A module with shardings; its header lets some parameters and results be sharded freely."""
    even = random.random() < 0.5
    entry = module.entry.name
    divided = {
        c.name for c in called_first(module.entry)
        if c is module.entry or any(
            c in i.called for i in module.instructions()
            if i.opcode in ("call", "conditional", "while")
        )
    }  # fmt: skip

    def annotated(computation: hlo.Computation) -> hlo.Computation:
        if computation.name not in divided:
            return computation
        at_the_entry = computation.name == entry
        plan = {
            instr: with_sharding(instr, random, even=even, sums=_may_be_sums(instr, computation))
            for instr in computation.instructions
            if instr.opcode != "parameter" or at_the_entry
            if random.random() < _how_often(instr, computation, at_the_entry=at_the_entry)
            if all(s.is_array and not s.is_dynamic for _, s in instr.shape.leaves())
        }
        return rebuild(computation, plan)

    made = rebuild_module(module, annotated)
    results = len(made.entry.root.shape.leaves())
    parameters = sum(len(p.shape.leaves()) for p in made.entry.parameters)
    header = replace(
        made.header, num_partitions=DEVICES,
        allow_spmd_sharding_propagation_to_output=_flags(results, random),
        allow_spmd_sharding_propagation_to_parameters=_flags(parameters, random),
    )  # fmt: skip
    return replace(made, header=header)


def _how_often(
    instr: hlo.Instruction, computation: hlo.Computation, *, at_the_entry: bool
) -> float:
    if at_the_entry and (instr.opcode == "parameter" or instr is computation.root):
        return AT_THE_ENTRY
    return INSIDE if instr.shape.is_array else 0


def _flags(count: int, random: Random) -> tuple[bool, ...]:
    return tuple(random.random() < 0.4 for _ in range(count))


def _may_be_sums(instr: hlo.Instruction, computation: hlo.Computation) -> bool:
    """Whether devices may have summands: of a number that nobody outside of the program sees."""
    entry = instr.opcode == "parameter" or instr is computation.root
    return not entry and instr.shape.is_array and instr.shape.element_type.kind != "pred"


def with_sharding(
    instr: hlo.Instruction, random: Random, *, even: bool, sums: bool = False
) -> hlo.Instruction:
    """An instruction with random shardings of its arrays.

    Parameters
    ----------
    even : whether only dimensions are cut that devices can share evenly.
    sums : whether devices that have the same part may have summands of it instead.
    """
    each = tuple(sharding(s.dims, random, even=even) for _, s in instr.shape.leaves())
    if sums and random.random() < 0.3:
        each = (_summands(each[0]),)
    made = Sharding("tuple", elements=each) if instr.shape.is_tuple else each[0]
    return instr.with_(annotations=replace(instr.annotations, sharding=made))


def _summands(sharding: Sharding) -> Sharding:
    if sharding.kind == "replicated":
        return Sharding("unreduced")
    kinds = ("unreduced",) if sharding.replicate_last else ()
    return replace(sharding, replicate_last=False, last_tile_dims=kinds)


def sharding(dims: tuple[int, ...], random: Random, *, even: bool) -> Sharding:
    """A sharding by the three axes of a cube of devices, in any order."""
    axes = [0, 1, 2]
    random.shuffle(axes)
    counts, cutting = [1] * len(dims), list[tuple[int, int]]()
    for d in random.sample(range(len(dims)), min(len(dims), random.randint(0, 2))):
        for _ in range(random.randint(1, 2)):
            if axes and not (even and dims[d] % (2 * counts[d])):
                cutting.append((d, axes.pop()))
                counts[d] *= 2
    if prod(counts) == 1:
        return Sharding("replicated")
    order = [axis for _, axis in sorted(cutting, key=lambda pair: pair[0])]
    devices = np.arange(DEVICES).reshape(2, 2, 2).transpose([*order, *sorted(axes)]).reshape(-1)
    copies = DEVICES // prod(counts)
    tiles = (*counts, copies) if copies > 1 else tuple(counts)
    assignment = TileAssignment(tiles, tuple(int(d) for d in devices))
    return Sharding("tiled", assignment, replicate_last=copies > 1)
