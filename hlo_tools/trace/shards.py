"""The parts of a sharded array, each with the devices that hold it, for a picture."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from optimizer.partitioning.cuts import cut_of

if TYPE_CHECKING:
    from hlo.instruction import Instruction

    Grid = tuple[int, int, list[list[int]]]

# More devices than a picture has room for.
MOST_DEVICES = 1024


def shard_grid(instr: Instruction) -> Grid | None:
    """The blocks of an instruction's array; None where it is not cut, or is no single array.

    Returns
    -------
    tuple or None
        rows, columns (the blocks of the last dimension), and the devices of each block in order.
    """
    sharding, shape = instr.annotations.sharding, instr.shape
    if sharding is None or not shape.is_array or not shape.rank or sharding.kind == "tuple":
        return None
    cut = cut_of(sharding, shape.rank)
    cutting = [axis for axis in cut.dims if axis] if cut else []
    if not cut or not cutting or len(cutting[0].places) > MOST_DEVICES:
        return None
    blocks: list[list[int]] = [[] for _ in range(prod(cut.counts))]
    for device in range(len(cutting[0].places)):
        block = 0
        for axis in cut.dims:
            block = block * axis.count + axis.places[device] if axis else block
        blocks[block].append(device)
    columns = cut.counts[-1]
    return prod(cut.counts) // columns, columns, blocks
