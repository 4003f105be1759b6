r"""The shardings that a program asks for, in the texts of GSPMD and of Shardy.

| said by | open dimensions |
| --- | --- |
| `sharding={...}` of an instruction, V3's also by name | `?` |
| `custom-call(x), custom_call_target="Sharding"` | `backend_config="unspecified_dims=[1]"` |
| `frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\"x\"}, {?}]>"}` | `?` |
| calls that begin and end regions of `shard_map` | |
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from hlo.attributes import CustomCall
from hlo.errors.error import HloError
from hlo.sharded import CUTS, JOINS, MANUAL_AXES, SHARDING, cut_values, meshes_in, resharding
from hlo.types.sharding import Sharding, SubAxis, TileAssignment
from hlo.types.shardy import ShardyError, axes_of, devices_of, shardings_of
from optimizer.partitioning.cuts import (
    ArrayCut,
    CutAxis,
    cut_of,
    cut_of_shards,
    everyone,
    manual_axis_of,
    mesh_axis,
    sharding_of,
    split,
    whole,
)
from optimizer.partitioning.flow import Border
from optimizer.partitioning.propagation import Wish

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hlo.instruction import Instruction, Module
    from hlo.types.shape import Shape
    from hlo.types.sharding import Mesh, NamedSharding

_UNSPECIFIED = re.compile(r"unspecified_dims=\[([\d, ]*)\]")


def leaves_of(instr: Instruction) -> Iterator[tuple[tuple[int, ...], Shape, Sharding | None]]:
    """The arrays of an instruction's value, each with its sharding.

    Raises
    ------
    HloError
        HLO122 if there are shardings of another number of arrays.
    """
    sharding, leaves = instr.annotations.sharding, instr.shape.leaves()
    if instr.opcode == "outfeed" or not leaves:
        # It says how the data is cut that is sent; or nothing, of an empty tuple.
        sharding = None
    shardings: list[Sharding | None] = [sharding] * len(leaves)
    if sharding is not None and sharding.kind == "tuple":
        shardings = [*_flat(sharding)]
    if len(shardings) != len(leaves):
        message = f"{instr.name}: its sharding is not that of a tuple of {len(leaves)} arrays"
        raise HloError("HLO122", message, instr.span)
    for (path, shape), one in zip(leaves, shardings, strict=True):
        yield path, shape, one


def _flat(sharding: Sharding) -> Iterator[Sharding]:
    for element in sharding.elements:
        if element.kind == "tuple":
            yield from _flat(element)
        else:
            yield element


def reader_of(module: Module) -> ShardingReader:
    """The reader of a module's shardings.

    Its devices are those that the header says, or else all that shardings and meshes name.
    """
    meshes, count = meshes_in(module), module.header.num_partitions
    if count > 1:
        return ShardingReader(meshes, tuple(range(count)))
    used, numbers = [*meshes.values()], set[int]()
    for instr in module.instructions():
        if instr.opcode == "custom-call":
            used += [named.mesh for named in _outside_of_region(instr, meshes)]
        if instr.annotations.sharding is not None:
            pairs = [(s, sharding.tiles) for _, s, sharding in leaves_of(instr) if sharding]
            tiled = [tiles for shape, tiles in pairs if tiles and shape.is_array]
            numbers.update(int(d) for tiles in tiled for d in tiles.device_array().reshape(-1))
    numbers |= set(range(max(map(devices_of, used), default=0)))
    return ShardingReader(meshes, tuple(sorted(numbers)) or (0,))


@dataclass(frozen=True)
class ShardingReader:
    """The shardings of one module.

    Attributes
    ----------
    meshes : by name.
    numbers : those of the devices in the texts, in order: 0, 1, 2, ... or others, where the header
        says nothing of them.
    """

    meshes: Mapping[str, Mesh]
    numbers: tuple[int, ...]

    @property
    def devices(self) -> int:
        """The number of partitions."""
        return len(self.numbers)

    def sharding(self, cut: ArrayCut) -> Sharding:
        """The sharding that makes a cut, by the numbers of the text."""
        sharding = sharding_of(cut)
        return sharding if sharding.tiles is None else self._renumbered(sharding, self.numbers)

    def _renumbered(
        self, sharding: Sharding, numbers: Sequence[int] | Mapping[int, int]
    ) -> Sharding:
        if sharding.tiles is None or self.numbers == tuple(range(self.devices)):
            return sharding
        devices = sharding.tiles.device_array().reshape(-1)
        tiles = TileAssignment(sharding.tiles.dims, tuple(numbers[int(d)] for d in devices))
        return replace(sharding, tiles=tiles)

    def wishes(self, instr: Instruction) -> Iterator[tuple[tuple[int, ...], Wish]]:
        """The shardings that the program asks for, of an instruction's arrays.

        Raises
        ------
        HloError
            HLO122 if a sharding is not one of all devices, or does not fit its array.
        """
        opened = self._open(instr)
        for index, (path, shape, sharding) in enumerate(leaves_of(instr)):
            if sharding is None or not shape.is_array:
                continue
            cut = self.cut(sharding, shape, instr)
            if cut is not None:
                yield path, Wish(cut, opened(index, sharding, shape.rank))

    def cut(self, sharding: Sharding, shape: Shape, instr: Instruction) -> ArrayCut | None:
        """The cut of an array by a sharding; None if it says none.

        Each device runs the same program on arrays of one shape, so no cut lets some devices hold
        nothing: a sharding for some of them says none, as one for a single device (`maximal`).
        """
        tiles = sharding.tiles
        if sharding.kind == "unknown":
            return None
        if tiles is not None and len(tiles.dims) < shape.rank:
            message = f"{instr.name}: its sharding has fewer dimensions than {shape}"
            raise HloError("HLO122", message, instr.span)
        if self._are_some(_numbers_of(sharding), instr):
            return None
        if tiles is not None:
            places = {number: place for place, number in enumerate(self.numbers)}
            sharding = self._renumbered(sharding, places)
        if sharding.kind == "unreduced":
            return replace(whole(shape.rank), summed=everyone(self.devices))
        return cut_of(sharding, shape.rank)

    def is_for_some(self, sharding: Sharding) -> bool:
        """Whether a sharding leaves some devices out."""
        return 0 < len(_numbers_of(sharding)) < self.devices

    def _are_some(self, numbers: set[int], instr: Instruction) -> bool:
        """Whether some devices of the program are left out.

        Raises
        ------
        HloError
            HLO122 if there are others than the program's.
        """
        others = numbers.difference(self.numbers)
        if others:
            listed, all_of = (",".join(map(str, sorted(s))) for s in (numbers, self.numbers))
            message = f"its sharding is for the devices {{{listed}}}, not {{{all_of}}}"
            raise HloError("HLO122", f"{instr.name}: {message}", instr.span)
        return 0 < len(numbers) < self.devices

    def _open(self, instr: Instruction):
        """The dimensions that a sharding leaves open, by the index of its array."""
        attributes = instr.annotations.frontend_attributes
        text = attributes.get(SHARDING) if attributes else None
        try:
            named = shardings_of(text, self.meshes) if text else ()
        except ShardyError:
            named = ()
        unspecified = _UNSPECIFIED.search(instr.annotations.backend_config or "")
        listed = [int(n) for n in re.findall(r"\d+", unspecified[1])] if unspecified else []

        def opened(index: int, sharding: Sharding, rank: int) -> frozenset[int]:
            if index < len(named):
                dims = named[index].dims
            elif sharding.named is not None:
                dims = sharding.named.dims
            else:
                return frozenset(listed)
            return frozenset(d for d in range(rank) if d < len(dims) and dims[d].open)

        return opened

    def border(self, instr: Instruction) -> Border:
        """Where a call begins or ends a region.

        Raises
        ------
        HloError
            HLO122 if the call does not say the parts, or not those of its shapes.
        """
        target = CustomCall.of(instr).custom_call_target
        if target.startswith("xla.sdy"):
            shards = resharding(instr, self.meshes, sums=True)
            cuts = tuple(
                replace(cut_of_shards(one), summed=mesh_axis(summed, named.mesh))
                if (summed := named.unreduced)
                else cut_of_shards(one)
                for one, named in zip(shards, _outside_of_region(instr, self.meshes), strict=True)
            )
            axis = self._manual(instr)
            if self._are_some(set(range(len(axis.places))), instr):
                message = f"a region is for {len(axis.places)} of {self.devices} devices"
                raise HloError("HLO122", f"{instr.name}: {message}", instr.span)
            return Border(axis, cuts)
        inside = instr if target in CUTS else instr.operands[0]
        sharding = inside.annotations.sharding or Sharding("manual")
        rank = inside.shape.rank if inside.shape.is_array else 0
        axis = manual_axis_of(sharding, rank, self.devices)
        return Border(
            axis or everyone(self.devices), (self._outside(instr, begins=target in CUTS),)
        )

    def _outside(self, instr: Instruction, *, begins: bool) -> ArrayCut:
        """The cut by which a region of GSPMD begins or ends, by the sharding of the whole.

        That may cut further, as the array is cut inside; and it may be missing, where each device
        takes its own block.
        """
        ((outside, part),) = cut_values(instr)
        counts = [n // m if m else 1 for n, m in zip(outside.dims, part.dims, strict=True)]
        sharding = (instr.operands[0] if begins else instr).annotations.sharding
        sharding = sharding or Sharding("replicated")
        if sharding.kind == "replicated" and prod(counts) == self.devices:
            # It may be missing: each device takes the block of its number.
            tiles = TileAssignment(tuple(counts), None, (self.devices,))
            sharding = Sharding("tiled", tiles)
        cut = self.cut(sharding, outside, instr)
        axes = cut.dims if cut else (None,) * outside.rank
        outer = ArrayCut(tuple(
            split(axis, axis.count // count)[0] if axis and 1 < count <= axis.count else None
            for axis, count in zip(axes, counts, strict=True)
        ))  # fmt: skip
        if cut is None or not outer.is_even(outside) or outer.local(outside).dims != part.dims:
            message = (
                f"{instr.name}: its sharding does not cut {outside.text_without_layout} "
                f"into {part.text_without_layout}"
            )
            raise HloError("HLO122", message, instr.span)
        return outer

    def _manual(self, instr: Instruction) -> CutAxis:
        """The axis of all manual axes of a mesh."""
        attributes = instr.annotations.frontend_attributes
        text = (attributes.get(MANUAL_AXES) if attributes else None) or ""
        named = axes_of(text)
        shardings = _outside_of_region(instr, self.meshes)
        mesh = shardings[0].mesh if shardings else next(iter(self.meshes.values()))
        return mesh_axis(map(SubAxis, named), mesh)


def _numbers_of(sharding: Sharding) -> set[int]:
    """The devices that a sharding names; none if it is for all, or for a single one."""
    if sharding.tiles is not None:
        return {int(d) for d in sharding.tiles.device_array().reshape(-1)}
    if sharding.named is not None and sharding.named.mesh.maximal_device is None:
        return set(range(devices_of(sharding.named.mesh)))
    return set()


def _outside_of_region(instr: Instruction, meshes: Mapping[str, Mesh]) -> tuple[NamedSharding, ...]:
    """The shardings of values outside of a region, at a call of Shardy that begins or ends it."""
    attributes, target = (
        instr.annotations.frontend_attributes,
        CustomCall.of(instr).custom_call_target,
    )
    key = CUTS.get(target) or JOINS.get(target) or ""
    return shardings_of((attributes.get(key) if attributes else "") or "", meshes)
