"""Loops whose turns several threads take."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import emit_c
import hlo
from emit_c.executable.choice import ThreadChoice
from emit_c.executable.runtime import runtime, set_threads, slots

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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


# Of four threads, the caller's part waits until three helpers are in theirs, and these until the
# system lets them use other processors than before.
HELD_UP = """
import os, time
from threading import Semaphore
import ctypes
from emit_c.executable.runtime import runtime

helpers, allowed = Semaphore(0), []

@ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)
def part(_, begin, end, slot):
    if slot == 0:
        assert all(helpers.acquire(timeout=10) for _ in range(3))
        return
    begun, ends = os.sched_getaffinity(0), time.monotonic() + 10
    helpers.release()
    while os.sched_getaffinity(0) == begun and time.monotonic() < ends:
        time.sleep(0.001)
    allowed.append((begun, os.sched_getaffinity(0)))

there = len(os.sched_getaffinity(0))
for _ in range(2):  # again they have all processors but one
    runtime().threads.hlo_parallel(part, None, ctypes.c_int64(4), ctypes.c_int64(1))
for before, then in allowed:
    assert (len(before), len(then)) == (there - 1, 1) and not before & then, allowed
assert len(allowed) == 6, allowed
"""
SHORT = """
import ctypes
from emit_c.executable.runtime import runtime

parts = []

@ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)
def part(_, begin, end, slot):
    parts.append((begin, end))

runtime().threads.hlo_parallel(part, None, ctypes.c_int64(150), ctypes.c_int64(100))
assert sorted(parts) == [(0, 75), (75, 150)], parts
"""


def run_on_four_threads(script: str) -> None:
    """As many as $PYHLO_THREADS says, whatever the machine has."""
    environment = {**os.environ, "PYHLO_THREADS": "4"}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)


def test_helpers_that_do_not_run_get_the_processor_of_who_waits_for_them() -> None:
    """Their own may have been taken by another program for long."""
    if not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two processors, and Linux")
    run_on_four_threads(HELD_UP)


def test_a_loop_has_no_more_shares_than_parts_that_are_long_enough() -> None:
    run_on_four_threads(SHORT)


def test_callers_that_ask_at_once_get_their_own_turns() -> None:
    """Helpers join loops of several callers, more than are offered at once."""
    counts = [0] * 80
    locks = [Lock() for _ in counts]

    def ask(caller: int) -> None:
        @Part
        def part(_: Any, begin: int, end: int, _slot: int) -> None:
            with locks[caller]:
                counts[caller] += end - begin

        for _ in range(3):
            runtime().threads.hlo_parallel(part, None, ctypes.c_int64(97), ctypes.c_int64(1))

    with ThreadPoolExecutor(len(counts)) as pool:
        list(pool.map(ask, range(len(counts))))
    assert counts == [3 * 97] * len(counts)


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({}, 0),
        ({"a/b": "max 100000"}, 0),
        ({"a/b": "200000 100000"}, 2),
        ({"a/b": "150000 100000"}, 2),
        ({"a/b": "max 100000", "a": "50000 100000"}, 1),
        ({"a/b": "300000 100000", "a": "max 100000", "": "400000 100000"}, 3),
        ({"a/b/c": "100000 100000", "a/c": "100000 100000"}, 0),
    ],
)
def test_threads_are_no_more_than_the_time_of_processors_that_a_container_has(
    files: dict[str, str], wanted: int, tmp_path: Path
) -> None:
    """A process is in the group /a/b, whose groups may have limits as well."""
    for group, text in files.items():
        folder = tmp_path / group
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cpu.max").write_text(f"{text}\n")
    assert runtime().threads.hlo_least_quota(str(tmp_path).encode(), b"/a/b") == wanted


class Caller(ctypes.Structure):
    """`struct hlo_caller` of calls.h."""

    _fields_ = (
        ("choice", ctypes.POINTER(ThreadChoice)),
        *((n, ctypes.c_int64) for n in ("floats", "limit", "is_alone", "began", "was_shared")),
    )


def made_alone(choice: ThreadChoice, calls: int) -> list[bool]:
    """Which of so many calls, which take next to no time, are made on one thread."""
    library: Any = runtime().threads
    begin: Any = ctypes.CFUNCTYPE(Caller, ctypes.POINTER(ThreadChoice), ctypes.c_int64)(
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
    choice = ThreadChoice(is_alone=is_alone, is_shared=1, left=3)
    choice.counted[is_alone], choice.seconds[is_alone] = 12, HOUR
    assert made_alone(choice, TRIAL + 1) == [not is_alone] * (TRIAL + 1)
    assert choice.is_alone == (not is_alone)


@pytest.mark.parametrize("is_alone", [0, 1])
def test_the_number_of_threads_stays_if_the_other_takes_more_time(is_alone: int) -> None:
    """The other calls took hours in earlier trials, and those of this one are half of the mean."""
    choice = ThreadChoice(is_alone=is_alone, is_shared=1, left=3)
    choice.counted[:], choice.seconds[not is_alone] = (12, 12), HOUR
    choice.seconds[is_alone] = HOUR / 4
    assert made_alone(choice, TRIAL + 1) == [not is_alone] * TRIAL + [bool(is_alone)]
    assert choice.halvings == 1


@pytest.mark.parametrize("is_alone", [0, 1])
def test_a_trial_that_is_held_up_counts_for_no_more_than_its_threads(is_alone: int) -> None:
    """Calls took next to nothing so far: to that, each call of the trial takes ages.

    On one thread it takes as many times as long as there are threads, at most: the rest of the time
    the system had suspended it, as it does by accident.
    """
    choice = ThreadChoice(is_alone=is_alone, is_shared=1, left=3)
    choice.counted[is_alone], choice.seconds[is_alone] = 12, 1e-15
    made_alone(choice, TRIAL)
    threads = runtime().threads.hlo_threads()
    assert choice.seconds[not is_alone] == pytest.approx(threads * 1e-15)
    assert choice.is_alone == is_alone


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_that_somebody_has_chosen_are_not_tried(threads: int) -> None:
    choice = ThreadChoice(threads=threads, is_shared=1, left=3)
    made_alone(choice, 2 * TRIAL)
    assert (choice.left, choice.counted[:]) == (3, [0, 0])


def test_calls_without_a_loop_for_several_threads_are_not_measured() -> None:
    choice = ThreadChoice(left=3)
    assert made_alone(choice, 2 * TRIAL) == [False] * (2 * TRIAL)
    assert choice.counted[:] == [0, 0]


def test_a_choice_is_explained() -> None:
    """All threads were faster, then one; both means are told."""
    choice = ThreadChoice(is_shared=1)
    choice.counted[:], choice.seconds[:] = (12, 3), (20e-6, 30e-6)
    all_faster = "calls take all 2 threads, 20.0 us in the mean; on one thread it was 30.0 us"
    assert choice.explained(2).startswith(all_faster)
    choice.is_alone = 1
    assert choice.explained(2).startswith("calls take one thread, 30.0 us in the mean")
    assert choice.explained(1) == "calls take one thread, as there are no others"


def test_an_executable_explains_why_short_loops_run_on_one_thread() -> None:
    module = hlo.parse("ENTRY e { x = f32[2,3] parameter(0)  ROOT y = f32[2,3] negate(x) }")
    negate = emit_c.compile(module)
    negate(np.ones((2, 3), np.float32))
    assert negate.explain().startswith("calls take one thread")
