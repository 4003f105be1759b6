"""Blocks that are needed at one moment never share bytes, and little is wasted."""

import itertools
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from optimizer.memory import heap
from optimizer.memory.heap import Block, aligned, pack, peak

MOMENTS = st.lists(st.integers(0, 30), min_size=2, max_size=6, unique=True).map(sorted)
BLOCKS = st.lists(
    st.builds(
        lambda size, moments: Block(size, list(zip(moments[::2], moments[1::2], strict=False))),
        st.integers(0, 1000),
        MOMENTS,
    ),
    max_size=20,
)


@given(BLOCKS)
def test_blocks_that_are_needed_together_do_not_overlap(blocks):
    offsets, total = pack(blocks)
    placed = list(zip(blocks, offsets, strict=True))
    for (x, at), (y, there) in itertools.combinations(placed, 2):
        together = any(a <= d and c <= b for a, b in x.spans for c, d in y.spans)
        assert x.meets(y) == y.meets(x) == together
        if together and x.size and y.size:
            assert at + x.size <= there or there + y.size <= at
    assert all(at % 64 == 0 and at + x.size <= total for x, at in placed if x.size)


@given(BLOCKS)
def test_packing_takes_no_less_than_the_peak_and_no_more_than_all(blocks):
    _, total = pack(blocks)
    assert peak(blocks) <= total <= sum(aligned(b.size) for b in blocks)


def test_blocks_of_different_times_share_bytes():
    blocks = [Block(100, [(0, 1)]), Block(100, [(2, 3)]), Block(64, [(1, 2)])]
    offsets, total = pack(blocks)
    assert offsets[0] == offsets[1]
    assert total == 192
    assert peak(blocks) == 164


def test_a_block_fits_into_the_gap_of_another_ones_time():
    _, total = pack([Block(100, [(0, 1), (5, 6)]), Block(100, [(2, 4)])])
    assert total == 100


def test_only_blocks_of_about_the_same_time_are_looked_through(monkeypatch):
    random = Random(0)

    def made(begin):
        moments = sorted(begin + int(random.paretovariate(0.6)) % 300 for _ in range(4))
        spans = [(moments[0], moments[3])]
        if moments[1] + 1 < moments[2] and random.random() < 0.2:
            spans = [(moments[0], moments[1]), (moments[2], moments[3])]
        return Block(random.randint(0, 4000), spans)

    blocks = [made(begin) for begin in range(400)]
    monkeypatch.setattr(heap, "_FEW", len(blocks))
    found = pack(blocks)
    assert any(len(block.spans) > 1 for block in blocks)
    for few in (5, 40, 200):
        monkeypatch.setattr(heap, "_FEW", few)
        assert pack(blocks) == found
