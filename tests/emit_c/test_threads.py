"""Loops whose turns several threads take."""

from __future__ import annotations

import ctypes
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emit_c.executable.runtime import runtime, set_threads, slots

if TYPE_CHECKING:
    from collections.abc import Iterator

Part: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)


@pytest.fixture(params=[1, 2], scope="module")
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """As many threads as are wanted, or as there are."""
    before = set_threads(request.param)
    yield min(request.param, slots())
    set_threads(before)


def chunks_of_slots(turns: int, grain: int) -> dict[int, list[range]]:
    """The chunks of a loop that each thread took, in turn."""
    taken: dict[int, list[range]] = {}

    @Part
    def part(_: Any, begin: int, end: int, slot: int) -> None:
        taken.setdefault(slot, []).append(range(begin, end))

    runtime().threads.hlo_parallel(part, None, ctypes.c_int64(turns), ctypes.c_int64(grain))
    return taken


@given(turns=st.integers(0, 100_000), grain=st.integers(1, 5000))
def test_each_turn_is_taken_once(threads: int, turns: int, grain: int) -> None:
    taken = chunks_of_slots(turns, grain)
    assert set(taken) <= set(range(threads))
    chunks = sorted((c for chunks in taken.values() for c in chunks), key=lambda c: c.start)
    assert [c.start for c in chunks] == [0, *(c.stop for c in chunks)][: len(chunks)]
    assert sum(map(len, chunks)) == turns


def test_threads_take_their_own_share_first(threads: int) -> None:
    # Of 100 turns, each thread has a part: the same in every loop.
    ends = [(slot + 1) * 100 // threads for slot in range(threads)]
    for _ in range(20):
        for slot, chunks in chunks_of_slots(100, 1).items():
            owners = [sum(c.start >= end for end in ends) for c in chunks]
            later = [(owner - slot) % threads for owner in owners]
            assert all(a <= b for a, b in pairwise(later)), (slot, chunks)
