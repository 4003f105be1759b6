"""Rules of shardings: a tile for each device, a device for each tile.

Source: XLA's HloSharding::Validate in `hlo_sharding.cc`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.verify.scope import refuse
from hlo.wording import counted

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from hlo.types.sharding import Sharding, TileAssignment


def verify_sharding(instr: Instruction, partitions: int) -> None:
    """Check an instruction's sharding, if it has one.

    Parameters
    ----------
    partitions : how many devices there are; 1 where the module does not say.

    Raises
    ------
    HloError
        HLO079.
    """
    sharding = instr.annotations.sharding
    # That of an outfeed is about the data that it sends, with the token.
    if sharding is None or instr.opcode == "outfeed":
        return
    if sharding.kind != "tuple":
        if not instr.shape.is_tuple:
            _verify_one(instr, instr.shape, sharding, partitions)
        return
    leaves = [leaf for _, leaf in instr.shape.leaves()]
    # A tuple without elements has one sharding, which stands for nothing.
    if len(sharding.elements) != max(len(leaves), 1):
        refuse(
            instr,
            "HLO079",
            f"{counted(len(sharding.elements), 'sharding')} for {counted(len(leaves), 'array')}",
        )
    for leaf, element in zip(leaves, sharding.elements, strict=False):
        _verify_one(instr, leaf, element, partitions)


def _verify_one(instr: Instruction, shape: Shape, sharding: Sharding, partitions: int) -> None:
    if sharding.kind == "maximal":
        _verify_device(instr, sharding.device, partitions)
    if sharding.kind != "tiled" or sharding.tiles is None:
        return
    _verify_devices(instr, sharding.tiles, partitions)
    extra = len(sharding.last_tile_dims) or int(sharding.replicate_last)
    rank = len(sharding.tiles.dims) - extra
    if shape.is_array and rank != shape.rank:
        refuse(
            instr,
            "HLO079",
            f"a sharding of {counted(rank, 'dimension')} for {shape.text_without_layout}",
        )


def _verify_devices(instr: Instruction, tiles: TileAssignment, partitions: int) -> None:
    # The compressed form is a permutation by construction, and may be very long.
    if tiles.devices is None:
        return
    if len(set(tiles.devices)) != len(tiles.devices):
        refuse(instr, "HLO079", "a device holds two tiles")
    for device in (min(tiles.devices), max(tiles.devices)):
        _verify_device(instr, device, partitions)


def _verify_device(instr: Instruction, device: int, partitions: int) -> None:
    if device < 0:
        refuse(instr, "HLO079", f"there is no device {device}")
    if device >= partitions > 1:
        refuse(instr, "HLO079", f"device {device}, but there are {partitions}")
