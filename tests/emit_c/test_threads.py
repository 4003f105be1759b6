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


class Choice(ctypes.Structure):
    """`struct hlo_choice` of calls.h."""

    _fields_ = (
        *((n, ctypes.c_int64) for n in ("threads", "is_alone", "is_shared", "is_measured")),
        *((n, ctypes.c_int64) for n in ("since_switch", "since_trial", "wait", "left")),
        ("counted", ctypes.c_int64 * 2),
        ("seconds", ctypes.c_double * 2),
        *((n, ctypes.c_double) for n in ("sum", "cost", "credit")),
    )


class Caller(ctypes.Structure):
    """`struct hlo_caller` of calls.h."""

    _fields_ = (
        ("choice", ctypes.POINTER(Choice)),
        *((n, ctypes.c_int64) for n in ("floats", "limit", "is_alone", "began", "was_shared")),
    )


def made_alone(choice: Choice, calls: int) -> list[bool]:
    """Which of so many calls, which take next to no time, are made on one thread."""
    library: Any = runtime().threads
    begin: Any = ctypes.CFUNCTYPE(Caller, ctypes.POINTER(Choice), ctypes.c_int64)(
        ("hlo_begin_call", library)
    )
    made: list[bool] = []
    for _ in range(calls):
        caller = begin(choice, 0)
        library.hlo_end_call(ctypes.byref(caller))
        made.append(bool(caller.is_alone))
    return made


# A trial is one call that is not counted and three that are.
TRIAL = 4
HOUR = 3600.0


@pytest.mark.parametrize("is_alone", [0, 1])
def test_the_other_number_of_threads_is_kept_if_it_takes_less_time(is_alone: int) -> None:
    """Calls took an hour so far; in the trial they take nothing."""
    choice = Choice(is_alone=is_alone, is_shared=1, wait=TRIAL, left=3)
    choice.counted[is_alone], choice.seconds[is_alone] = 12, HOUR
    assert made_alone(choice, TRIAL + 1) == [not is_alone] * (TRIAL + 1)
    assert choice.is_alone == (not is_alone)


@pytest.mark.parametrize("is_alone", [0, 1])
def test_the_number_of_threads_stays_if_the_other_takes_more_time(is_alone: int) -> None:
    """The other calls took hours in earlier trials, and those of this one are half of the mean."""
    choice = Choice(is_alone=is_alone, is_shared=1, wait=TRIAL, left=3)
    choice.counted[:], choice.seconds[not is_alone] = (12, 12), HOUR
    choice.seconds[is_alone] = HOUR / 4
    assert made_alone(choice, TRIAL + 1) == [not is_alone] * TRIAL + [bool(is_alone)]
    assert choice.wait == 2 * TRIAL


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_that_somebody_has_chosen_are_not_tried(threads: int) -> None:
    choice = Choice(threads=threads, is_shared=1, wait=TRIAL, left=3)
    made_alone(choice, 2 * TRIAL)
    assert (choice.left, choice.counted[:]) == (3, [0, 0])


def test_calls_without_a_loop_for_several_threads_are_not_measured() -> None:
    choice = Choice(wait=TRIAL, left=3)
    assert made_alone(choice, 2 * TRIAL) == [False] * (2 * TRIAL)
    assert choice.counted[:] == [0, 0]
