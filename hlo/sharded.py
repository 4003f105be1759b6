"""Programs that are not divided yet: values that are whole, and calls that cut and join them.

JAX's `shard_map` becomes a computation that each device runs on its part of some arrays. Around it
all values are whole, as if there were one device: a custom call cuts each operand into parts, and
another one joins the results. XLA's partitioner divides what lies around, too, and then no such
call is left.

| cuts | joins | written by |
| --- | --- | --- |
| xla.sdy.GlobalToLocalShape | xla.sdy.LocalToGlobalShape | Shardy |
| SPMDFullToShardShape | SPMDShardToFullShape | GSPMD, before Shardy |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.attributes import CustomCall
from hlo.errors.error import HloError
from hlo.types.shardy import ShardyError, axes_of, devices_of, meshes_of, shardings_of, tiled
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape
    from hlo.types.sharding import Mesh, Sharding

MESHES = "xla.sdy.meshes"
SHARDING = "xla.sdy.sharding"
MANUAL_AXES = "xla.sdy.manual_axes"
CUTS = {"xla.sdy.GlobalToLocalShape": "xla.sdy.in_shardings", "SPMDFullToShardShape": ""}
JOINS = {"xla.sdy.LocalToGlobalShape": "xla.sdy.out_shardings", "SPMDShardToFullShape": ""}
# Kinds of sharding in which each device has all of a value.
_WHOLE = frozenset({"replicated", "maximal", "manual", "unknown"})


@dataclass(frozen=True)
class Shards:
    """The parts of an array, and the devices that hold them.

    Attributes
    ----------
    counts : how many parts each dimension is cut into.
    groups : devices that hold one of each part, in row-major order; each device is in one group.
    """

    counts: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]

    @property
    def is_whole(self) -> bool:
        """Whether each device holds all of the array."""
        return prod(self.counts) == 1

    def group(self, device: int) -> tuple[int, ...]:
        """The group of a device; alone where each device holds all."""
        return next((group for group in self.groups if device in group), (device,))

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The part that each device holds, as its place in each dimension: [device, dimension]."""
        table = np.zeros((1 + max((d for g in self.groups for d in g), default=0),
                          len(self.counts)), np.int64)  # fmt: skip
        for group in self.groups if self.counts else ():
            table[list(group)] = np.stack(
                np.unravel_index(np.arange(len(group)), self.counts), axis=-1
            )
        return table

    def cut_evenly(self, whole: Shape) -> bool:
        """Whether the parts of an array are equal."""
        return not any(size % n for size, n in zip(whole.dims, self.counts, strict=True))

    def local(self, whole: Shape) -> Shape:
        """The shape of a part of an array that is cut evenly."""
        sizes = zip(whole.dims, self.counts, strict=True)
        return whole.with_dims(tuple(size // count for size, count in sizes))


def with_sharding(instr: Instruction, sharding: Sharding | None) -> Instruction:
    """The instruction with another sharding."""
    return instr.with_(annotations=replace(instr.annotations, sharding=sharding))


def uncut(rank: int) -> Shards:
    """The one part of an array that each device holds whole."""
    return Shards((1,) * rank, ())


def shards_of(sharding: Sharding, rank: int) -> Shards | None:
    """The parts that a sharding makes of an array; None if it says none of this rank.

    Such a sharding is that of a tuple, or of sums that are not added up.
    """
    if sharding.kind in _WHOLE:
        return uncut(rank)
    if sharding.named is not None:
        if sharding.named.unreduced or len(sharding.named.dims) > rank:
            return None
        sharding = tiled(sharding.named, rank)
        return shards_of(sharding, rank)
    tiles = sharding.tiles
    if tiles is None or len(tiles.dims) < rank or "unreduced" in sharding.last_tile_dims:
        return None
    counts = tiles.dims[:rank]
    rows = tiles.device_array().reshape(prod(counts), -1).T
    return Shards(counts, tuple(tuple(int(d) for d in row) for row in rows))


def cut_values(instr: Instruction) -> list[tuple[Shape, Shape]]:
    """The whole shape and the part's of each value that a call cuts or joins.

    Raises
    ------
    HloError
        HLO122 if it has not as many operands as results.
    """
    results = instr.shape.elements if instr.shape.is_tuple else (instr.shape,)
    if len(results) != len(instr.operands):
        counts = f"{counted(len(instr.operands), 'operand')}, {counted(len(results), 'result')}"
        raise HloError("HLO122", f"{instr.name}: {counts}: it gives one for each", instr.span)
    pairs = zip((o.shape for o in instr.operands), results, strict=True)
    if CustomCall.of(instr).custom_call_target in CUTS:
        return list(pairs)
    return [(whole, part) for part, whole in pairs]


def resharding(
    instr: Instruction, meshes: Mapping[str, Mesh], *, sums: bool = False
) -> list[Shards]:
    """The parts of each value that a call cuts or joins.

    Parameters
    ----------
    meshes : of the module.
    sums : whether devices may hold summands of a value (`unreduced`).

    Raises
    ------
    HloError
        HLO122 if the call does not say them, or if they are not those of its shapes.
    """
    steps: list[Shards] = []
    shapes = cut_values(instr)
    for (whole, part), sharding in zip(
        shapes, _written(instr, meshes, shapes, sums=sums), strict=True
    ):
        parts = shards_of(sharding, whole.rank) if sharding else None
        fits = parts and parts.cut_evenly(whole) and parts.local(whole).dims == part.dims
        if parts is None or not fits:
            message = (
                f"{instr.name}: its sharding does not cut {whole.text_without_layout} "
                f"into {part.text_without_layout}"
            )
            raise HloError("HLO122", message, instr.span)
        steps.append(parts)
    return steps


def _written(
    instr: Instruction,
    meshes: Mapping[str, Mesh],
    shapes: Sequence[tuple[Shape, Shape]],
    *,
    sums: bool,
) -> list[Sharding | None]:
    """The shardings of the values that a call cuts or joins, as the text has them."""
    target = CustomCall.of(instr).custom_call_target
    key = CUTS.get(target) or JOINS.get(target)
    if not key:
        holder = instr.operands[0] if target in CUTS else instr
        return [holder.annotations.sharding]
    try:
        return _by_axes(instr, key, meshes, [whole.rank for whole, _ in shapes], sums=sums)
    except ShardyError as error:
        raise HloError("HLO122", f"{instr.name}: {error}", instr.span) from None


def _by_axes(
    instr: Instruction, key: str, meshes: Mapping[str, Mesh], ranks: Sequence[int], *, sums: bool
) -> list[Sharding | None]:
    shardings = shardings_of(_attribute(instr, key), meshes)
    axes = frozenset(axes_of(_attribute(instr, MANUAL_AXES)))
    if len(shardings) != len(ranks):
        raise ShardyError(f"{len(shardings)} shardings of {len(ranks)} values")
    if not sums and any(sharding.unreduced for sharding in shardings):
        raise ShardyError("it takes or gives summands that nobody has added up (unreduced)")
    return [tiled(sharding, rank, axes) for sharding, rank in zip(shardings, ranks, strict=True)]


def _attribute(instr: Instruction, key: str) -> str:
    attributes = instr.annotations.frontend_attributes
    text = attributes.get(key) if attributes else None
    if text is None:
        raise ShardyError(f"it has no frontend attribute `{key}`")
    return text


def meshes_in(module: Module) -> dict[str, Mesh]:
    """The meshes that a module's shardings name.

    Raises
    ------
    HloError
        HLO122 if they can't be read.
    """
    try:
        return meshes_of(module.header.frontend_attributes.get(MESHES) or "")
    except ShardyError as error:
        raise HloError("HLO122", str(error), module.span) from None


def reshardings(module: Module) -> list[Instruction]:
    """The calls of a module that cut or join values whose parts are smaller than they are."""
    return [
        instr
        for instr in module.instructions()
        if instr.opcode == "custom-call"
        and (target := CustomCall.of(instr).custom_call_target) in (CUTS | JOINS)
        and (target in _BY_AXES or instr.operands[0].shape.dims != instr.shape.dims)
    ]


def sharding_holders(module: Module) -> frozenset[Instruction]:
    """The instructions whose sharding says how a call cuts them: no other one may take their place.

    A call of Shardy's, and one that joins parts, has its sharding itself.
    """
    targets = CUTS.keys() - _BY_AXES
    return frozenset(
        instr.operands[0]
        for instr in reshardings(module)
        if CustomCall.of(instr).custom_call_target in targets
    )


_BY_AXES = frozenset(target for target, key in (CUTS | JOINS).items() if key)


def devices_given(module: Module, replicas: int) -> int:
    """The number of devices that have arguments of their own: one where arrays are whole."""
    return 1 if reshardings(module) else replicas * module.header.num_partitions


def partitions_of(module: Module) -> int:
    """The number of partitions that a module is for: HLO's text need not say it beside meshes."""
    if module.header.num_partitions > 1:
        return module.header.num_partitions
    instructions = reshardings(module)
    if not instructions:
        return 1
    meshes = meshes_in(module)
    named: list[Any] = [devices_of(mesh) for mesh in meshes.values()]
    for instr in instructions:
        for parts in resharding(instr, meshes):
            named += [len(parts.places)]
    return max(named)
