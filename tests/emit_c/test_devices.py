"""Several devices: what the interpreter gives on each, for all kinds of collectives.

They are threads, which read each other's arrays, or send each other messages as processes do.
"""

import ctypes
import itertools
import os
import signal
import socket
import subprocess
import threading
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emit_c
import hlo
import interpreter
from emit_c.executable.devices import explained
from emit_c.executable.processes import StoppedError, connected, run_by_messages
from emit_c.executable.runtime import runtime
from hlo.errors.error import HloError
from interpreter.numbers.compare import BITS, compare
from tests.collectives import (
    ADD,
    PROGRAMS,
    TYPES,
    all_modes,
    entry,
    given_to_all,
    module_of,
    outcome,
)
from tests.stress import build_stress

CHANNELS = itertools.count()


@cache
def sockets() -> Any:
    """Those of one process, which sends to itself only."""
    return runtime().threads.hlo_sockets(1, (ctypes.c_int64 * 1)(-1))


def by_messages(executable: Any, per_device: list[tuple[Any, ...]]) -> Any:
    """The values where devices meet by messages, as those of several processes do."""
    count = len(per_device)
    homes = (ctypes.c_int64 * count)()
    wire = runtime().threads.hlo_socket_wire(sockets(), next(CHANNELS), count, homes, 1)
    program = executable.program
    # A run that fails leaves nothing behind that a later one could find.
    again = 2
    for turn in range(again):
        try:
            found = run_by_messages(wire, program, per_device, count)
        except StoppedError as stopped:
            if turn:
                plan = program.together.plan(count)
                raise explained(stopped.report, program.together.meetings.sites, plan) from None
    return found


WAYS = {"threads": lambda run, given: run(per_device=given), "messages": by_messages}


def equal(text: str, per_device: list[tuple[Any, ...]], *, optimize: bool = True) -> Any:
    """Whether C gives on each device, bit by bit, what the interpreter gives; gives the code."""
    module = hlo.parse(text)
    executable = emit_c.compile(module, optimize=optimize)
    wanted = interpreter.evaluate(module, per_device=per_device)
    for name, way in WAYS.items():
        values = way(executable, per_device)
        for device, (got, want) in enumerate(zip(values, wanted, strict=True)):
            difference = compare(got, want, BITS)
            assert difference is None, f"{name}, device {device}: {difference}"
    return executable


@pytest.mark.parametrize("part", range(4))
def test_all_collectives_in_all_modes_of_all_types(part: int) -> None:
    """Whose groups, which pieces, in which order numbers are combined: nothing may differ."""
    kinds = TYPES[part::4]
    equal(all_modes(kinds), given_to_all(kinds))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("optimize", [False, True])
def test_programs_give_what_the_interpreter_gives(name: str, optimize: bool) -> None:
    """Down to the words of an error."""
    module, given = module_of(name)
    want = outcome(lambda: interpreter.evaluate(module, per_device=given))
    executable = emit_c.compile(module, optimize=optimize)
    for way in WAYS.values():
        got = outcome(lambda way=way: way(executable, given))
        if isinstance(want, tuple):
            assert got == want
        else:
            assert compare(tuple(got), tuple(want), BITS) is None


def stress(folder: Path, first: int, counts: dict[str, int], *flags: str) -> None:
    """Run random schedules, in which some devices fail, skip a collective, or differ.

    Parameters
    ----------
    counts : how many by threads, and how many by messages.
    """
    program = build_stress(folder / "stress", *flags)
    for way, count in counts.items():
        words = [program, str(first), str(count), *([way] if way == "messages" else [])]
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert ran.stdout == f"{count} schedules\n"


def test_nothing_hangs(tmp_path: Path) -> None:
    """Whatever devices do, and however they are delayed."""
    stress(tmp_path, 3000, {"threads": 400, "messages": 40})


@pytest.mark.slow
def test_nothing_races(tmp_path: Path) -> None:
    """The same under ThreadSanitizer."""
    stress(tmp_path, 1000, dict.fromkeys(WAYS, 10_000), "-g", "-fsanitize=thread")


ENDLESS = """HloModule m, replica_count=3
add {{ a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT s = s32[] add(a, b) }}
odd {{ s = (s32[], s32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  seven = s32[] constant(7)
  ROOT more = pred[] compare(i, seven), direction=NE }}
step {{ s = (s32[], s32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = s32[4] get-tuple-element(s), index=1
  two = s32[] constant(2)
  j = s32[] add(i, two)
  w = s32[4] multiply(v, v)
  ROOT r = (s32[], s32[4]) tuple(j, w) }}
goes_on {{ p = s32[4] parameter(0)
  z = s32[] constant(0)
  t = (s32[], s32[4]) tuple(z, p)
  w = (s32[], s32[4]) while(t), condition=odd, body=step
  ROOT r = s32[4] get-tuple-element(w), index=1 }}
waits {{ p = s32[4] parameter(0)
  ROOT r = s32[4] all-reduce(p), to_apply=add }}
ENTRY e {{ x = s32[4] parameter(0)
  me = u32[] replica-id()
  who = u32[] constant({who})
  f = pred[] compare(me, who), direction=EQ
  ROOT r = s32[4] conditional(f, x, x), true_computation=goes_on, false_computation=waits }}"""


@pytest.mark.parametrize("who", [0, 1])
def test_an_interrupt_ends_all_devices(who: int) -> None:
    """Be it the caller's own device that never ends, or another one."""
    executable = emit_c.compile(hlo.parse(ENDLESS.format(who=who)))
    interrupt = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        executable(per_device=[(np.arange(4, dtype=np.int32),)] * 3)


def test_arrays_that_have_no_place_are_an_error() -> None:
    """Each device wants 2 ** 55 bytes for its result."""
    text = f"""HloModule m, replica_count=2
ENTRY e {{
  x = f32[] parameter(0)
  s = f32[2] all-gather(b), dimensions={{0}}
  ROOT r = f32[{2**53}] broadcast(x), dimensions={{}}
}}"""
    text = text.replace("  s = ", "  b = f32[1] reshape(x)\n  s = ")
    executable = emit_c.compile(hlo.parse(text))
    with pytest.raises(HloError, match="no memory for the arrays of 2 devices") as caught:
        executable(per_device=[(np.float32(1),)] * 2)
    assert caught.value.code == "HLO114"


def test_as_many_devices_as_the_module_is_for() -> None:
    """Or one that is alone: others are refused before anything runs."""
    executable = emit_c.compile(hlo.parse(f"HloModule m, replica_count=2\n{ADD}" + entry(
        "ROOT r = s32[4] all-reduce(x), to_apply=add")))  # fmt: skip
    with pytest.raises(HloError, match="arguments for 3 devices") as caught:
        executable(per_device=[(np.zeros(4, np.int32),)] * 3)
    assert caught.value.code == "HLO116"


def test_a_machine_that_vanishes_is_noticed_within_seconds() -> None:
    """It closes nothing. So the system asks it, and ends the connection if no answer comes."""
    told: dict[int, bytes] = {}
    all_there = threading.Barrier(2)
    found: dict[int, Any] = {}

    def connect(rank: int) -> None:
        def tell_all(record: bytes) -> list[bytes]:
            told[rank] = record
            all_there.wait(60)
            return [told[0], told[1]]

        found[rank] = connected(tell_all, rank)[1]

    other = threading.Thread(target=connect, args=(1,))
    other.start()
    connect(0)
    other.join()
    for rank in range(2):
        (made,) = filter(None, found[rank])
        ask = partial(made.getsockopt, socket.IPPROTO_TCP)
        silent = ask(socket.TCP_KEEPIDLE)
        asked = ask(socket.TCP_KEEPINTVL) * ask(socket.TCP_KEEPCNT)
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert silent + asked < 10
        made.close()
