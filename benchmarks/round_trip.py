"""How far apart two processors are: the time of a cache line's way there and back.

python -m benchmarks.round_trip

Two processors that share a cache take some 50 ns; others several hundred. A guest of a hypervisor
is moved from processor to processor of its host, so that from one minute to the next its two may be
near each other or far apart, and what both threads write or share is slower to reach in between.
"""

from __future__ import annotations

import ctypes
import os

from emit_c.executable.libraries import library

_TURNS = 20_000
_SOURCE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>

static _Alignas(128) int64_t ball;
static int64_t turns;
static int processors[2];

static void play(int side) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processors[side], &only);
  pthread_setaffinity_np(pthread_self(), sizeof only, &only);
  for (int64_t turn = side; turn < 2 * turns; turn += 2) {
    while (__atomic_load_n(&ball, __ATOMIC_ACQUIRE) != turn) {}
    __atomic_store_n(&ball, turn + 1, __ATOMIC_RELEASE);
  }
}

static void *other(void *nothing) {
  play(1);
  return nothing;
}

double round_trip(int64_t count, int first, int second) {
  pthread_t thread;
  struct timespec begin, end;
  processors[0] = first, processors[1] = second;
  ball = 0, turns = count;
  cpu_set_t before;
  pthread_getaffinity_np(pthread_self(), sizeof before, &before);
  if (pthread_create(&thread, 0, other, 0)) return -1;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  play(0);
  pthread_join(thread, 0);
  clock_gettime(CLOCK_MONOTONIC, &end);
  pthread_setaffinity_np(pthread_self(), sizeof before, &before);
  return ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / count;
}
"""


def round_trip() -> float | None:
    """Nanoseconds between the first two processors; None where there is one, or another system."""
    processors = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(processors) < 2:
        return None
    function = ctypes.CDLL(str(library([_SOURCE], ("-O2", "-pthread"), ()))).round_trip
    function.restype = ctypes.c_double
    return function(ctypes.c_int64(_TURNS), *processors[:2])


def spell_round_trip() -> str:
    """The round trip in words."""
    taken = round_trip()
    return "" if taken is None else f"(a cache line there and back: {taken:.0f} ns)"


if __name__ == "__main__":
    print(spell_round_trip())
