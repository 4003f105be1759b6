"""Parameters of which each device is given its part, and results of which it gives one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.partitioning.cuts import whole
from optimizer.partitioning.propagation import Wish

if TYPE_CHECKING:
    from hlo.instruction import Header, Instruction, Module
    from optimizer.partitioning.wishes import ShardingReader

    Path = tuple[int, ...]


def parameter_wishes(
    module: Module, reader: ShardingReader, *, cut: bool
) -> dict[tuple[Instruction, Path], Wish]:
    """The cuts of parameters: as their shardings say, or free where the header allows that.

    Parameters
    ----------
    cut : whether they are; else each device is given whole arrays.
    """
    wishes: dict[tuple[Instruction, Path], Wish] = {}
    allowed = module.header.allow_spmd_sharding_propagation_to_parameters
    number = 0
    for parameter in module.entry.parameters:
        said = dict(reader.wishes(parameter)) if cut else {}
        for path, shape in parameter.shape.leaves():
            rank = shape.rank if shape.is_array else 0
            wish = said.get(path)
            free = cut and is_allowed(allowed, number)
            if wish is None or (wish.cut.is_whole and free):
                wish = Wish(whole(rank), frozenset(range(rank) if free else ()))
            elif not free:
                # What the caller gives is fixed, even where the program leaves it open.
                wish = Wish(wish.cut)
            wishes[parameter, path] = wish
            number += 1
    return wishes


def is_allowed(allowed: tuple[bool, ...], number: int) -> bool:
    """Whether the header lets propagation decide of an array; one value stands for all."""
    if len(allowed) == 1:
        return allowed[0]
    return number < len(allowed) and allowed[number]


def result_wishes(module: Module, reader: ShardingReader, *, cut: bool) -> dict[Path, Wish]:
    """The cuts of results; open where the header lets propagation decide."""
    header: Header = module.header
    root = module.entry.root
    said = dict(reader.wishes(root)) if cut else {}
    wishes: dict[Path, Wish] = {}
    for number, (path, shape) in enumerate(root.shape.leaves()):
        rank = shape.rank if shape.is_array else 0
        free = cut and is_allowed(header.allow_spmd_sharding_propagation_to_output, number)
        wish = said.get(path)
        if wish is None or (wish.cut.is_whole and free):
            wish = Wish(whole(rank), frozenset(range(rank) if free else ()))
        wishes[path] = wish
    return wishes
