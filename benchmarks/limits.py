"""Limits of kernels that their roofline does not know, and by which slow ones are explained.

The roofline of `emit_c.executable.profile` counts bytes of memory, and operations as if all were
multiply-adds in full vectors on all threads. Sorts compare instead, chains of scalars wait for each
other, short kernels have no time to wake threads, and LAPACK is not ours.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.measure import timed
from emit_c.executable.runtime import slots
from hlo.attributes import Sort, TopK
from hlo.opcode import SEQUENTIAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from emit_c.executable.profile import ProfileRow, Roofline
    from hlo.instruction import Instruction

# In multiply-adds of the peak rate, counted as two: an operation that no other is fused with, and a
# transcendental function (in vectors and in the cache, exp takes 50, log 70, sine 210).
ALONE, TRANSCENDENTAL = 2, 50
_CONTRACTIONS = ("dot", "convolution")
# Bytes of a loop's state that are a few scalars; nothing of it is worth a lane or a thread.
FEW_BYTES = 256
# As fast as another library's function, but for noise.
AS_FAST = 1.25
# Iterations that fill no vector; and of a kernel's work what is not worth a look.
FEW_ITERATIONS, LITTLE = 8, 0.05
_HEADER = re.compile(r"( *)for \(s64 \w+ = (-?\w+); \w+ < (-?\w+); \w+ ?(?:\+\+|\+= (\d+))\) \{")
# A thread is awake after some 5 us, and what it is to read is on its way for as long.
WAKE = 15e-6


class Loop(NamedTuple):
    """A loop that was meant for lanes.

    Attributes
    ----------
    iterations : its own.
    times : how often it begins in a call of its kernel; 0 where that is not known.
    """

    line: int
    iterations: int
    times: int


def least_seconds(row: ProfileRow, line: Roofline, *, threads: bool) -> float:
    """The roofline of a kernel's calls, for the operations that they are, on as many threads."""
    rate = line.flops_per_second / (1 if threads else slots())
    operations = 0.0
    for site in row.sites:
        alone = ALONE if not _contracts(site.instruction) else 1
        operations += site.flops * alone + site.transcendentals * TRANSCENDENTAL
    operations *= row.calls / len(row.sites)
    return max(row.bytes / line.bytes_per_second, operations / rate)


def _contracts(instr: Instruction) -> bool:
    inside = (i for c in instr.called for i in c.instructions)
    return any(i.opcode in _CONTRACTIONS for i in (instr, *inside))


def limit_of_rate(row: ProfileRow) -> str:
    """Why a kernel is far from its roofline; empty where nothing known explains it."""
    instr = row.sites[0].instruction
    if instr.opcode == "custom-call":
        return "the time of LAPACK"
    if instr.opcode in SEQUENTIAL and row.bytes < FEW_BYTES * row.calls:
        return "scalars that wait for each other"
    for name, seconds in _same_by_numpy(instr):
        if row.seconds <= AS_FAST * row.calls * seconds:
            return f"{name} takes {row.calls * seconds / row.seconds:.1f} times as long"
    return ""


def _same_by_numpy(instr: Instruction) -> Iterator[tuple[str, float]]:
    """The seconds of NumPy for the same work on random numbers, on as many threads if it could."""
    made = np.random.default_rng(0)
    runs: dict[str, Callable[[], Any]] = {}
    if instr.opcode == "topk":
        rows = made.standard_normal(instr.operands[0].shape.dims).astype(np.float32)
        k = TopK.of(instr).k

        def largest() -> Any:
            found = np.argpartition(-rows, k - 1, axis=-1)[..., :k]
            kept = np.take_along_axis(rows, found, -1)
            order = np.argsort(-kept, axis=-1, kind="stable")
            return np.take_along_axis(kept, order, -1), np.take_along_axis(found, order, -1)

        runs["numpy.argpartition"] = largest
    elif instr.opcode == "sort":
        axis = Sort.of(instr).dimensions[0]
        rows = made.standard_normal(instr.operands[0].shape.dims).astype(np.float32)
        if len(instr.operands) == 1:
            runs["numpy.sort"] = partial(np.sort, rows, axis=axis)
        else:
            runs["numpy.argsort"] = partial(np.argsort, rows, axis=axis, kind="stable")
    for name, run in runs.items():
        yield name, min(timed(run) for _ in range(3)) / slots()


def limit_of_threads(row: ProfileRow, alone: ProfileRow, *, threads: bool) -> str:
    """Why a kernel is slower where there are several threads."""
    each = (row.seconds - alone.seconds) / row.calls
    if not threads:
        return "on one thread, of numbers that others wrote"
    return "threads wake meanwhile" if each < WAKE else ""


def limit_of_lanes(row: ProfileRow, loops: Sequence[Loop], others: int) -> str:
    """Why loops of a kernel run in no lanes.

    Parameters
    ----------
    others : loops of the same kernel that do.
    """
    if others and all(loop.iterations < FEW_ITERATIONS for loop in loops):
        return "what is left over after whole vectors"
    if row.flops == 0:
        return "copies numbers that lie apart, which are loaded one by one"
    work = (row.flops + row.bytes / 4) / row.calls
    if all(0 < loop.times * loop.iterations < LITTLE * work for loop in loops):
        return "little of its work"
    return ""


def loop_at(lines: Sequence[str], number: int) -> Loop:
    """The loop after a line of C, whose number counts from 1."""
    own = _HEADER.match(lines[number])
    iterations = _iterations(own) if own else 0
    indent, times = len(own[1]) if own else 0, 1
    for line in reversed(lines[: number - 1]):
        if not line.startswith(" "):
            break
        found = _HEADER.match(line)
        if found and len(found[1]) < indent:
            indent = len(found[1])
            times *= _iterations(found)
    return Loop(number, iterations, times)


def _iterations(header: re.Match[str]) -> int:
    """0 where a bound is not a number."""
    start, stop, step = header[2], header[3], header[4] or "1"
    return len(range(int(start), int(stop), int(step))) if start.isdigit() & stop.isdigit() else 0
