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
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hlo.attributes import CustomCall
from hlo.errors.error import HloError
from hlo.sharded import CUTS, JOINS, MANUAL_AXES, SHARDING, resharding
from hlo.types.sharding import Sharding
from hlo.types.shardy import ShardyError, axes_of, shardings_of
from optimizer.partitioning.cuts import (
    ArrayCut,
    CutAxis,
    cut_of,
    cut_of_shards,
    manual_axis_of,
)
from optimizer.partitioning.flow import Border
from optimizer.partitioning.propagation import Wish

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from hlo.types.sharding import Mesh

_UNSPECIFIED = re.compile(r"unspecified_dims=\[([\d, ]*)\]")


def leaves_of(instr: Instruction) -> Iterator[tuple[tuple[int, ...], Shape, Sharding | None]]:
    """The arrays of an instruction's value, each with its sharding.

    Raises
    ------
    HloError
        HLO122 if there are shardings of another number of arrays.
    """
    sharding, leaves = instr.annotations.sharding, instr.shape.leaves()
    each: list[Sharding | None] = [sharding] * len(leaves)
    if sharding is not None and sharding.kind == "tuple":
        each = [*_flat(sharding)]
    if len(each) != len(leaves):
        message = f"{instr.name}: its sharding is not that of a tuple of {len(leaves)} arrays"
        raise HloError("HLO122", message, instr.span)
    for (path, shape), one in zip(leaves, each, strict=True):
        yield path, shape, one


def _flat(sharding: Sharding) -> Iterator[Sharding]:
    for element in sharding.elements:
        if element.kind == "tuple":
            yield from _flat(element)
        else:
            yield element


@dataclass(frozen=True)
class ShardingReader:
    """The shardings of one module.

    Attributes
    ----------
    meshes : by name.
    devices : the number of partitions.
    """

    meshes: Mapping[str, Mesh]
    devices: int

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
        """The cut of an array by a sharding; None if it says none."""
        tiles = sharding.tiles
        if tiles is not None:
            if len(tiles.dims) < shape.rank:
                message = f"{instr.name}: its sharding has fewer dimensions than {shape}"
                raise HloError("HLO122", message, instr.span)
            self._expect_all(tiles.device_array(), instr)
        cut = cut_of(sharding, shape.rank)
        if cut and (sharding.named is not None):
            self._expect_all(np.arange(max(
                [len(axis.places) for axis in cut.dims if axis], default=self.devices
            )), instr)  # fmt: skip
        return cut

    def _expect_all(self, devices: np.ndarray, instr: Instruction) -> None:
        """Refuse arrays of which some devices hold no part."""
        numbers = sorted(int(d) for d in devices.reshape(-1))
        if numbers == list(range(self.devices)):
            return
        if len(numbers) == self.devices:
            listed = ",".join(map(str, numbers))
            message = f"{instr.name}: its sharding is for the devices {{{listed}}}, not 0 to "
            message += f"{self.devices - 1}"
        else:
            message = f"{instr.name}: its sharding is for {len(numbers)} of {self.devices} devices"
        raise HloError("HLO122", message, instr.span)

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
        cuts = [cut_of_shards(shards) for shards in resharding(instr, self.meshes)]
        target = CustomCall.of(instr).custom_call_target
        if (CUTS.get(target) or JOINS.get(target)) is not None and target.startswith("xla.sdy"):
            return Border(self._manual(instr), tuple(cuts))
        inside = instr if target in CUTS else instr.operands[0]
        sharding = inside.annotations.sharding or Sharding("manual")
        rank = inside.shape.rank if inside.shape.is_array else 0
        axis = manual_axis_of(sharding, rank, self.devices)
        return Border(axis or CutAxis(self.devices, tuple(range(self.devices))), tuple(cuts))

    def _manual(self, instr: Instruction) -> CutAxis:
        """The axis of all manual axes of a mesh."""
        attributes = instr.annotations.frontend_attributes
        text = (attributes.get(MANUAL_AXES) if attributes else None) or ""
        named = axes_of(text)
        key = CUTS.get(CustomCall.of(instr).custom_call_target) or JOINS.get(
            CustomCall.of(instr).custom_call_target
        )
        shardings = shardings_of(
            (attributes.get(key or "") if attributes else "") or "", self.meshes
        )
        mesh = shardings[0].mesh if shardings else next(iter(self.meshes.values()))
        sizes = [size for _, size in mesh.axes]
        grid = mesh.devices.device_array().reshape(-1) if mesh.devices else np.arange(prod(sizes))
        dims = [n for n, (name, _) in enumerate(mesh.axes) if name in named]
        place = np.indices(sizes).reshape(len(sizes), -1)
        counts = [sizes[n] for n in dims]
        number = np.ravel_multi_index([place[n] for n in dims], counts) if dims else 0 * grid
        places = np.empty(grid.size, np.int64)
        places[grid] = number
        return CutAxis(max(1, prod(counts)), tuple(int(p) for p in places))
