"""Arithmetic on the parts of arrays: dimensions moved, combined and dropped."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hlo.sharded import Shards
from hlo.types.sharding import Sharding, TileAssignment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    # A dimension's number of parts, and the one of each device; None where it is not cut.
    DimParts = tuple[int, NDArray[np.int64]] | None


def dim_parts(parts: Shards, dim: int) -> DimParts:
    """The parts of one dimension."""
    count = parts.counts[dim]
    return (count, parts.places[:, dim]) if count > 1 else None


def parts_of_dims(dims: Sequence[DimParts]) -> Shards | None:
    """The parts of an array whose dimensions are cut so.

    None if a device would hold a part that others lack, or hold more often: dimensions that the
    same devices cut make no parts together.
    """
    counts = tuple(cut[0] if cut else 1 for cut in dims)
    columns = [cut[1] for cut in dims if cut]
    if not columns:
        return Shards(counts, ())
    number = np.ravel_multi_index(columns, [n for n in counts if n > 1])
    order = np.argsort(number, kind="stable")
    held = np.bincount(number, minlength=prod(counts))
    if (held != held[0]).any():
        return None
    rows = order.reshape(prod(counts), -1).T
    return Shards(counts, tuple(tuple(int(device) for device in row) for row in rows))


def along(parts: Shards, dims: Sequence[int | None]) -> Shards:
    """The parts of an array whose dimension i is dimension dims[i] of another one, or not cut."""
    found = parts_of_dims([None if d is None else dim_parts(parts, d) for d in dims])
    assert found, "some dimensions of parts make parts"
    return found


def across(parts: Shards, dims: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Groups of devices for an all-reduce over some dimensions, of shape [groups, devices].

    The parts of a group's devices differ along these dimensions only, and cover them.
    """
    numbers = np.array(parts.groups).reshape(-1, *parts.counts)
    axes = [1 + d for d in dims]
    others = [axis for axis in range(numbers.ndim) if axis not in axes]
    rows = numbers.transpose(*others, *axes).reshape(-1, prod(parts.counts[d] for d in dims))
    return tuple(tuple(int(device) for device in row) for row in rows)


def are_same(one: Shards, other: Shards) -> bool:
    """Whether each device holds the same part."""
    if one.is_whole or other.is_whole:
        return one.is_whole and other.is_whole
    return one.counts == other.counts and np.array_equal(one.places, other.places)


def sharding_of(parts: Shards) -> Sharding:
    """The sharding that makes these parts."""
    if parts.is_whole:
        return Sharding("replicated")
    devices = tuple(int(d) for d in np.array(parts.groups).T.reshape(-1))
    copies = len(parts.groups)
    dims = (*parts.counts, copies) if copies > 1 else parts.counts
    return Sharding("tiled", TileAssignment(dims, devices), replicate_last=copies > 1)
