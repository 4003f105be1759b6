"""The times of a module's kernels, beside the roofline.

The roofline of a kernel is the longer of two times: that of moving its bytes to and from memory,
and that of its operations, at the best rates that this machine shows. Caches are faster than
memory, so a kernel whose data stays in them may be faster than its roofline. A transcendental
operation counts as one, though it takes ten or more.
"""

from __future__ import annotations

import ctypes
import json
import time
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from emit_c.conditions import conditions_for
from emit_c.executable.built import build
from emit_c.executable.calling import aligned_bytes
from emit_c.executable.libraries import library
from emit_c.executable.runtime import FOLDER, in_one_file, runtime, slots
from emit_c.executable.strided import loaded
from emit_c.executable.toolchain import OPTIMIZED
from emit_c.program.clocks import with_clocks
from emit_c.program.emit import emit
from hlo.support import machine
from optimizer.layout.result_views import views_of
from optimizer.pipelines import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from emit_c.conditions import Conditions
    from emit_c.kernels.passes import KernelPass
    from emit_c.program.call_sites import KernelSite
    from hlo.instruction import Module

SECONDS = 0.2  # in which a module is run again and again
MOST_EVENTS = 1 << 20
SLOWED = 1.25  # times as long: less may be noise
_EVENT = np.dtype([("site", "i8"), ("begin", "i8"), ("end", "i8"), ("thread", "i8")])
_COPIED = 2 * (64 << 20)  # bytes that roofline_copy reads and writes
_ITERATIONS, _OPERATIONS = 1 << 19, 2 * 12 * 16
_FUSED = (*OPTIMIZED, "-ffp-contract=fast")


@dataclass(frozen=True, slots=True)
class Roofline:
    """The best rates of this machine, on all threads.

    Attributes
    ----------
    bytes_per_second : of copying memory, read and written.
    flops_per_second : of multiplications and additions of f32 in registers.
    """

    bytes_per_second: float
    flops_per_second: float

    def seconds(self, site: KernelSite) -> float:
        """The least time for a call."""
        operations = site.flops + site.transcendentals
        return max(site.bytes / self.bytes_per_second, operations / self.flops_per_second)


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """All calls of a kernel.

    Attributes
    ----------
    sites : where it was called; the first one stands for all in a table.
    seconds, least_seconds : of all calls together, measured and by the roofline.
    """

    sites: tuple[KernelSite, ...]
    calls: int
    seconds: float
    least_seconds: float
    bytes: int
    flops: int

    @property
    def share(self) -> float:
        """The share of the roofline, of which 1 is as fast as can be."""
        return self.least_seconds / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Profile:
    """A run of a module.

    Attributes
    ----------
    value : its result.
    seconds : of the whole call.
    events : numbers of sites, begins and ends in ns, and threads, as columns.
    lost : events for which there was no room.
    threads : on how many of them calls run, and why.
    slowed : kernels that subnormal numbers slow down, where they are kept: how many times as long
        each takes as where they are zeros.
    """

    value: Any
    seconds: float
    sites: tuple[KernelSite, ...]
    events: np.ndarray[Any, Any]
    lost: int
    roofline: Roofline
    threads: str = ""
    slowed: Mapping[str, float] = field(default_factory=dict[str, float])

    def rows(self) -> list[ProfileRow]:
        """The kernels, those first that took longest."""
        of_kernel: dict[str, list[int]] = {}
        for number, site in enumerate(self.sites):
            of_kernel.setdefault(site.kernel, []).append(number)
        calls = np.bincount(self.events["site"], minlength=len(self.sites))
        spent = np.bincount(
            self.events["site"], self.events["end"] - self.events["begin"], len(self.sites)
        )
        rows = [
            ProfileRow(
                tuple(self.sites[n] for n in numbers),
                int(sum(calls[n] for n in numbers)),
                float(sum(spent[n] for n in numbers)) * 1e-9,
                sum(self.roofline.seconds(self.sites[n]) * int(calls[n]) for n in numbers),
                sum(self.sites[n].bytes * int(calls[n]) for n in numbers),
                sum(self.sites[n].flops * int(calls[n]) for n in numbers),
            )
            for numbers in of_kernel.values()
        ]
        return sorted((r for r in rows if r.calls), key=lambda r: -r.seconds)

    def trace(self) -> str:
        """The run in the format of Chrome's tracing (chrome://tracing, ui.perfetto.dev)."""
        first = int(self.events["begin"].min()) if len(self.events) else 0
        return json.dumps({"traceEvents": [self._event(e, first) for e in self.events]})

    def _event(self, event: Any, first: int) -> dict[str, Any]:
        site: KernelSite = self.sites[int(event["site"])]
        duration = int(event["end"] - event["begin"])
        return {
            "name": site.kernel,
            "cat": site.instruction.opcode,
            "ph": "X",
            "ts": (int(event["begin"]) - first) / 1e3,
            "dur": duration / 1e3,
            "pid": 1,
            "tid": int(event["thread"]),
            "args": {
                "instruction": site.instruction.name,
                "bytes": site.bytes,
                "flops": site.flops,
                "GB/s": round(site.bytes / max(duration, 1), 2),
            },
        }


def profile(
    module: Module,
    arguments: Iterable[Any] = (),
    per_device: Sequence[Sequence[Any]] | None = None,
    schedule: KernelPass | None = None,
) -> Profile:
    """Run an optimized module again and again for a moment, and take the times of the fastest run.

    The first run finds nothing in the caches, and any run may be interrupted by other programs.
    Where subnormal numbers are kept, the module is run without them as well.

    Parameters
    ----------
    per_device : instead of `arguments`: those of each device, which run together. Times are sums
        over all devices, and a collective's include the time that it waits for others.
    schedule : as of `emit_c.compile`.

    Raises
    ------
    HloError
        as `Executable` and its call.
    """
    chosen = conditions_for()
    call = partial(_profiled, module, schedule, arguments, per_device)
    profiled = call(chosen)
    if chosen.subnormals == "flush":
        return profiled
    return replace(profiled, slowed=slowed(profiled, call(replace(chosen, subnormals="flush"))))


def slowed(usual: Profile, flushed: Profile) -> dict[str, float]:
    """The kernels that take longer where subnormal numbers are kept, and how many times as long."""
    least = {row.sites[0].kernel: row.seconds for row in flushed.rows()}
    times = {
        k: row.seconds / least[k] for row in usual.rows() if least.get(k := row.sites[0].kernel)
    }
    return {kernel: ratio for kernel, ratio in times.items() if ratio >= SLOWED}


def _profiled(
    module: Module,
    schedule: KernelPass | None,
    arguments: Iterable[Any],
    per_device: Sequence[Sequence[Any]] | None,
    conditions: Conditions,
) -> Profile:
    """The fastest run of an optimized module."""
    recorder = _recorder()
    prepared = prepare(module, with_views=True)
    program = with_clocks(emit(prepared, schedule=schedule, conditions=conditions))
    sites = tuple(call.site for call in program.parts.calls.kernel_steps)
    executable = loaded(module.entry, build(program, views_of(module)), partial(str, module))
    call = partial(executable, *arguments, per_device=per_device)
    call()
    roofline()  # takes its own time, once
    best: Profile | None = None
    end = time.perf_counter() + SECONDS
    while best is None or time.perf_counter() < end:
        run = _once(recorder, call, sites)
        if best is None or run.seconds < best.seconds:
            best = run
    return replace(best, threads=executable.explain())


def _once(
    recorder: ctypes.CDLL,
    call: Callable[[], Any],
    sites: tuple[KernelSite, ...],
) -> Profile:
    recorder.hlo_take_events(None, 0)
    begin = time.perf_counter()
    value = call()
    seconds = time.perf_counter() - begin
    events = np.empty(MOST_EVENTS, _EVENT)
    there: int = recorder.hlo_take_events(events.ctypes.data, MOST_EVENTS)
    recorded = events[: min(there, MOST_EVENTS)].copy()
    return Profile(value, seconds, sites, recorded, there - len(recorded), roofline())


@cache
def _recorder() -> ctypes.CDLL:
    """The library of runtime/profile.c, in which modules find its functions."""
    path = library([(FOLDER / "profile.c").read_text()], ("-O2", "-pthread"), ())
    loaded = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    loaded.hlo_take_events.restype = ctypes.c_int64
    loaded.hlo_take_events.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    return loaded


@cache
def roofline() -> Roofline:
    """Measure the machine; takes a tenth of a second."""
    memory = np.ones(2 * (64 << 20), np.uint8)
    address = ctypes.c_void_p(memory.ctypes.data)
    copy = _fastest(lambda: _loops().roofline_copy(address), 5)
    multiply, operations = multiplications()
    return Roofline(_COPIED / copy, operations / _fastest(multiply, 20))


def multiplications() -> tuple[Callable[[], None], int]:
    """A run of multiplications and additions of f32 in registers, on all threads, and its flops."""
    sums = np.empty((slots(), 64), np.uint8)
    target, iterations = ctypes.c_void_p(sums.ctypes.data), ctypes.c_int64(_ITERATIONS)

    def run(_kept: Any = sums) -> None:
        _loops().roofline_multiply(target, iterations)

    return run, _ITERATIONS * _OPERATIONS


def reading(size: int) -> Callable[[], None]:
    """A run of reading so many bytes of an array, from wherever they are then, on all threads."""
    lines = -(-size // machine.CACHE_LINE)
    memory, sums = (aligned_bytes(n * machine.CACHE_LINE) for n in (lines, slots()))
    memory.fill(1)  # what was never written is all one page
    addresses = [ctypes.c_void_p(array.ctypes.data) for array in (memory, sums)]

    def run(_kept: Any = (memory, sums)) -> None:
        _loops().roofline_read(addresses[0], ctypes.c_int64(lines), addresses[1])

    return run


@cache
def _loops() -> ctypes.CDLL:
    """The library of runtime/roofline.c."""
    runtime()
    return ctypes.CDLL(str(library([in_one_file("roofline.c")], _FUSED)))


def _fastest(run: Callable[[], Any], times: int) -> float:
    """Seconds of the best of some runs; other threads join only after the first ones."""
    taken: list[float] = []
    for _ in range(times):
        begin = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begin)
    return min(taken)
