"""Groups of dimensions of a reshape: neighbours before, and those after with their elements."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Dims = tuple[int, ...]
Groups = tuple[tuple[Dims, Dims], ...]


def common_factors(before: Sequence[int], after: Sequence[int]) -> Iterator[tuple[Dims, Dims]]:
    """Groups of dimensions, as small as possible, that multiply to the same; no size may be 0.

    A dimension of size 1 belongs to the group that begins with it.

    References
    ----------
    XLA, `CommonFactors` in `xla/util.cc`.
    """
    i = j = 0
    while i < len(before) or j < len(after):
        m = n = 1
        while (left := prod(before[i : i + m])) != (right := prod(after[j : j + n])):
            m, n = (m + 1, n) if left < right else (m, n + 1)
        yield tuple(range(len(before))[i : i + m]), tuple(range(len(after))[j : j + n])
        i, j = i + m, j + n


# A model reshapes among few shapes, and rules, layouts and fusions ask again and again.
@lru_cache(maxsize=4096)
def reshaped_groups(before: Dims, after: Dims) -> Groups:
    """The smallest groups of neighbouring dimensions, before and after a reshape.

    Returns
    -------
    tuple
        pairs of dimensions before and dimensions after with the same number of elements, in order;
        a dimension of size 1 may come from nowhere or go there. No groups if there is no element.

    >>> reshaped_groups((2, 3, 4), (6, 1, 4))
    (((0, 1), (0,)), ((), (1,)), ((2,), (2,)))
    """
    groups: list[tuple[Dims, Dims]] = []
    if 0 in before or 0 in after:
        return ()
    for left, right in common_factors(before, after):
        i, j = _leading_ones(left, before), _leading_ones(right, after)
        groups += [((d,), ()) for d in left[:i]]
        groups += [((), (d,)) for d in right[:j]]
        groups.append((left[i:], right[j:]))
    return tuple(groups)


def _leading_ones(dims: Dims, sizes: Dims) -> int:
    """The number of dimensions of size 1 before a larger one; 0 where there is none."""
    return next((i for i, d in enumerate(dims) if sizes[d] != 1), 0)


@lru_cache(maxsize=4096)
def groups_of_many(before: Dims, after: Dims) -> Groups:
    """The groups of a reshape, without dimensions of size 1."""
    groups: list[tuple[Dims, Dims]] = []
    for left, right in common_factors(before, after):
        many = tuple(d for d in left if before[d] != 1), tuple(d for d in right if after[d] != 1)
        groups += [many] if many[0] else []
    return tuple(groups)


def unchanged(before: Dims, after: Dims) -> dict[int, int]:
    """The dimensions that a reshape leaves as they are, each with its number afterwards."""
    groups = reshaped_groups(before, after)
    return {old[0]: new[0] for old, new in groups if len(old) == len(new) == 1}
