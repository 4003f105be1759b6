"""The numbers by which calls choose between one thread and all, each tried at half and at double.

python -m benchmarks.choices

`emit_c/executable/runtime/calls.c` is compiled with a clock of its own, and told how long calls
take: on machines where threads help or hurt, are taken away, or become busy and free again. A
number is the time of all calls over that of whoever knows at each time what is faster; so 1.02
means that not to know it costs 2 %. There is no real time in it: it is the same on every machine.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import geometric_mean, table
from emit_c.executable.libraries import library
from emit_c.executable.runtime import in_one_file

LENGTHS = (20e-6, 300e-6, 5e-3, 100e-3)  # of a call on one thread, in seconds
SECONDS, MOST_CALLS, LEAST_CALLS = 8.0, 20_000, 80
SEEDS = range(5)
Simulated = Callable[..., float]  # the seconds of some calls, by their times on all and on one

_BEFORE = """\
#include <stdint.h>
#include <time.h>
static int64_t hlo_now = 1;
static int hlo_clock(struct timespec *clock) {
  clock->tv_sec = hlo_now / 1000000000;
  clock->tv_nsec = hlo_now % 1000000000;
  return 0;
}
#define clock_gettime(kind, clock) hlo_clock(clock)
"""
_AFTER = """
int64_t hlo_threads(void) { return 2; }

// The seconds of n calls, of which each takes one time on all threads and another on one.
double simulated(int64_t n, const double *on_all, const double *on_one) {
  struct hlo_choice choice = {0};
  int64_t began = hlo_now;
  for (int64_t i = 0; i < n; i++) {
    struct hlo_caller caller = hlo_begin_call(&choice, 0);
    hlo_own_call.is_shared = 1;
    hlo_now += (int64_t)(1e9 * (caller.is_alone ? on_one : on_all)[i]);
    hlo_end_call(&caller);
  }
  return 1e-9 * (double)(hlo_now - began);
}
"""


class Machine(NamedTuple):
    """How long calls take for a while.

    Attributes
    ----------
    on_all : the time on all threads, in times on one.
    held_up : the share of calls on all threads for which another program has a processor.
    alone_held_up : the same of calls on one thread.
    longer : seconds that such a call takes more.
    trial_held_up : seconds that the second call of the first trial takes more on one thread.
    """

    on_all: float
    held_up: float = 0.0
    alone_held_up: float = 0.0
    longer: float = 4e-3
    trial_held_up: float = 0.0


HELPS, EVEN, HURTS = Machine(0.55), Machine(1.0), Machine(1.5)
# One after the other, for equal times.
MACHINES: dict[str, tuple[Machine, ...]] = {
    "threads help": (HELPS,),
    "threads help little": (Machine(0.9),),
    "threads do nothing": (EVEN,),
    "threads hurt little": (Machine(1.1),),
    "threads hurt": (HURTS,),
    "a helper is never there": (Machine(20.0),),
    "busy, threads help": (Machine(0.6, 0.05, 0.05),),
    "busy, threads hurt": (Machine(0.8, 0.5, 0.05),),
    "becomes busy": (HELPS, Machine(0.8, 0.5, 0.05)),
    "becomes free": (Machine(0.8, 0.5, 0.05), HELPS),
    "threads come and go": (HELPS, HURTS, HELPS, HURTS),
    "threads hurt, a trial is held up": (HURTS._replace(trial_held_up=1e-3),),
    "threads hurt, a trial is held up long": (HURTS._replace(trial_held_up=0.1),),
    "busy at times, threads hurt": (Machine(1.5, 0.002, 0.002),),
}


def times_of(machines: tuple[Machine, ...], length: float, seed: int) -> list[np.ndarray[Any, Any]]:
    """The times of calls on all threads and on one, a column each, for each machine."""
    calls = int(np.clip(SECONDS / length, LEAST_CALLS, MOST_CALLS)) // len(machines)
    random = np.random.default_rng(seed)
    found: list[np.ndarray[Any, Any]] = []
    for machine in machines:
        made = np.empty((2, calls))
        for kind, share in enumerate((machine.held_up, machine.alone_held_up)):
            made[kind] = length * (1.0 if kind else machine.on_all)
            made[kind] *= random.normal(1, 0.02, calls)
            made[kind] += machine.longer * (random.random(calls) < share)
        made[1, 6] += machine.trial_held_up
        found.append(made)
    return found


def regret(simulated: Simulated, machines: tuple[Machine, ...], length: float) -> float:
    """The time of all calls over that of whoever knows what is faster."""
    taken = least = 0.0
    for seed in SEEDS:
        phases = times_of(machines, length, seed)
        columns = np.ascontiguousarray(np.concatenate(phases, axis=1))
        addresses = (ctypes.c_void_p(column.ctypes.data) for column in columns)
        taken += float(simulated(ctypes.c_int64(columns.shape[1]), *addresses))
        least += sum(float(phase.sum(axis=1).min()) for phase in phases)
    return taken / least


def policy(name: str = "", factor: float = 1.0) -> tuple[Simulated, str]:
    """The policy of calls.c with one of its numbers changed, and that number."""
    text, number = in_one_file("calls.c"), ""
    if name:
        pattern = re.compile(rf"\b{name} = ([\d.e-]+)")
        found = pattern.search(text)
        assert found, name
        value = float(found[1])
        changed = 1 + (value - 1) * factor if name in RATIOS else value * factor
        number = f"{changed:.4g}" if "." in found[1] or "e" in found[1] else str(round(changed))
        text = pattern.sub(f"{name} = {number}", text, count=1)
    sources = [_BEFORE + text + _AFTER, in_one_file("thread.c")]
    loaded = ctypes.CDLL(str(library(sources, ("-O2",), ())))
    loaded.simulated.restype = ctypes.c_double
    return loaded.simulated, number


# Numbers of which the distance to 1 is halved or doubled.
RATIOS = ("BETTER", "WORSE")
NUMBERS = (
    *(
        "SETTLING",
        "LOOKS",
        "WINDOW",
        "HALVINGS",
        "FIRST_CREDIT",
        "SHARE",
        "BETTER",
        "WORSE",
        "NOTICEABLE",
    ),
)


def main() -> None:
    """Print a row for each machine, and one for each number."""
    now, _ = policy()
    lengths = [f"{length * 1e3:g} ms" for length in LENGTHS]
    rows = [
        [name, *(f"{regret(now, machines, length):.3f}" for length in LENGTHS)]
        for name, machines in MACHINES.items()
    ]
    print(table(("calls of", *lengths), rows))
    print()
    rows = [["as it is", "", *_all(now)]]
    for name in NUMBERS:
        for factor in (0.5, 2.0):
            changed, number = policy(name, factor)
            rows.append([name, number, *_all(changed)])
    print(table(("number", "changed to", "mean", "worst"), rows))


def _all(simulated: Simulated) -> list[str]:
    found = [regret(simulated, m, length) for m in MACHINES.values() for length in LENGTHS]
    return [f"{geometric_mean(found):.4f}", f"{max(found):.2f}"]


if __name__ == "__main__":
    main()
