"""How a reshape groups dimensions."""

from math import prod

from hypothesis import given
from hypothesis import strategies as st

from hlo.types.grouping import common_factors, groups_of_many, reshaped_groups

SIZES = st.sampled_from(
    [((6, 4), (2, 3, 4)), ((1, 6), (6,)), ((2, 1, 3), (6, 1)), ((4, 6), (24,)), ((1, 1), (1,))]
)
ONES = st.lists(st.integers(0, 3), max_size=3)


def with_ones(dims, places):
    found = list(dims)
    for place in places:
        found.insert(place, 1)
    return tuple(found)


@given(SIZES, ONES, ONES)
def test_groups_hold_the_same_elements_in_order(sizes, here, there) -> None:
    before, after = with_ones(sizes[0], here), with_ones(sizes[1], there)
    for groups in (reshaped_groups(before, after), list(common_factors(before, after))):
        assert [d for left, _ in groups for d in left] == list(range(len(before)))
        assert [d for _, right in groups for d in right] == list(range(len(after)))
        for left, right in groups:
            assert prod(before[d] for d in left) == prod(after[d] for d in right)
    many = groups_of_many(before, after)
    assert [d for left, _ in many for d in left] == [d for d, n in enumerate(before) if n != 1]
    assert all(left and right for left, right in many)


def test_a_dimension_of_one_alone_comes_from_nowhere() -> None:
    assert reshaped_groups((1, 2), (2,)) == (((0,), ()), ((1,), (0,)))
    assert list(common_factors((1, 2), (2,))) == [((0, 1), (0,))]
    assert groups_of_many((1, 2), (2,)) == (((1,), (0,)),)
