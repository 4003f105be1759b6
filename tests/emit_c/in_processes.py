"""What each of several processes does; it prints what it sees, process by process.

usage: mpiexec -n N python in_processes.py PART     a function of this file
"""

import ctypes
import io
import os
import signal
import sys
import tempfile
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

import emit_c
import hlo
import interpreter
from emit_c.executable.processes import Processes, processes_of
from hlo_tools.cli import main as main_of_hlo
from interpreter.numbers.compare import BITS, compare

ADD = "add { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT s = s32[] add(a, b) }\n"
SUM = "ENTRY e { x = s32[4] parameter(0)\n ROOT r = s32[4] all-reduce(x), to_apply=add }"
X = np.arange(4, dtype=np.int32)
# Small arrays and large ones, in blocks and whole, reduced, moved and overlapped.
MANY = """ENTRY e { x = s32[%d,16] parameter(0)
  s = s32[%d,16] all-reduce-start(x), to_apply=add
  g = s32[%d,%d] all-gather(x), dimensions={1}
  r = s32[%d,%d] reduce-scatter(x), dimensions={1}, to_apply=add
  a = s32[%d,16] all-to-all(x), dimensions={1}
  p = s32[%d,16] collective-permute(x), source_target_pairs={{0,1},{1,0}}
  d = s32[%d,16] all-reduce-done(s)
  me = u32[] replica-id()
  ROOT t = (s32[%d,%d], s32[%d,%d], s32[%d,16], s32[%d,16], s32[%d,16], u32[])
    tuple(g, r, a, p, d, me) }"""
BRANCHES = """together { p = s32[4] parameter(0)
  ROOT r = s32[4] all-reduce(p), to_apply=add }
apart { p = s32[4] parameter(0)
  ROOT r = s32[4] negate(p) }
ENTRY e { x = s32[4] parameter(0)
  me = u32[] replica-id()
  zero = u32[] constant(0)
  first = pred[] compare(me, zero), direction=EQ
  ROOT r = s32[4] conditional(first, x, x), true_computation=together, false_computation=apart }"""


def compiled(body: str, devices: int) -> tuple[hlo.Module, Any]:
    """A module and its code, which the first process compiles, and the others find in the cache."""
    here = processes_of()
    if here.rank:
        here.gather(b"compiled")
    module = hlo.parse(f"HloModule m, replica_count={devices}\n{ADD}{body}")
    made = emit_c.compile(module)
    if not here.rank:
        here.gather(b"compiled")
    return module, made


def outcome(run: Any) -> str:
    try:
        return str(run())
    except hlo.HloError as error:
        return f"{error.code} {error.message}"


def values(here: Processes) -> list[str]:
    """Bit by bit the interpreter's, of small and of large arrays, twice."""
    n, told = here.size, []
    for rows in (8, 4000):
        wide, narrow = 16 * n, 16 // n
        sizes = (*[rows] * 3, wide, rows, narrow, *[rows] * 4, wide, rows, narrow, *[rows] * 3)
        module, run = compiled(MANY % sizes, n)
        given = [
            np.random.default_rng(d).integers(-99, 99, (rows, 16)).astype(np.int32)
            for d in range(n)
        ]
        want = interpreter.evaluate(module, per_device=[(x,) for x in given])[here.rank]
        for _ in range(2):
            got = run(given[here.rank], communicator=here)
            told.append(str(compare(got, want, BITS)))
    return told


def errors(here: Processes) -> list[str]:
    """All processes have the same error, and go on after it."""
    n = here.size
    good, waits, other = (compiled(b, n)[1] for b in (SUM, BRANCHES, SUM.replace("4]", "5]")))
    many = compiled(SUM, n + 1)[1]
    y = np.zeros(5, np.int32)
    calls = [
        lambda: waits(X, communicator=here),
        lambda: good(X, communicator=here),
        lambda: many(X, communicator=here),
        lambda: other(y, communicator=here) if here.rank else good(X, communicator=here),
        lambda: good(X, communicator=here),
    ]
    return [outcome(call) for call in calls]


def verb(here: Processes) -> list[str]:
    """One process prints for all."""
    said = io.TextIOWrapper(io.BytesIO())
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(said):
        path = Path(folder) / "m.hlo"
        path.write_text(f"HloModule m, replica_count={here.size}\n{ADD}{SUM}")
        main_of_hlo(["run", str(path), "--platform", "c", "--transport", "mpi", "--fill", "3"])
    said.seek(0)
    return said.read().splitlines()


def schedules(here: Processes) -> list[str]:
    """How many random schedules of `stress.c`, a library now, end as they must."""
    path, first, count = os.environ["STRESS"].split()
    run = ctypes.CDLL(path).run_schedules
    run.argtypes = [ctypes.c_uint, ctypes.c_uint, ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    return [str(run(int(first), int(count), here.wire, here.rank, here.size))]


def death(here: Processes) -> list[str]:
    """The last process is killed while the others wait for it."""
    run = compiled(SUM, here.size)[1]
    run(X, communicator=here)
    if here.rank == here.size - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    start = time.monotonic()
    told = outcome(lambda: run(X, communicator=here))
    return [told, "soon" if time.monotonic() - start < 10 else "late"]


def main() -> None:
    here = processes_of()
    for part in sys.argv[1:]:
        told = globals()[part](here)
        # A line at once, so that those of others do not come between.
        os.write(1, "".join(f"{here.rank} {line}\n" for line in told).encode())


main()
