"""The processor that a table was measured on: its name, caches, instruction sets and load.

python -m benchmarks.processor

A time says little without them: a threshold that is right for a cache of 1 MiB is wrong for one of
2 MiB, and a busy machine makes threads wait for each other.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from benchmarks.round_trip import spell_round_trip
from emit_c.code.processor import described_caches

# Instruction sets that decide which code is fast, as Linux names them; ARM's are the last ones.
FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "asimd", "sve", "i8mm")


def about_processor() -> str:
    """Lines on the processor, as far as the system tells."""
    facts = _facts()
    known = set((facts.get("flags") or facts.get("Features") or "").split())
    name = facts.get("model name") or platform.processor() or platform.machine()
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    first = [f"{name}, {usable} of {os.cpu_count()} processors"]
    if found := [flag for flag in FLAGS if flag in known]:
        first.append(" ".join(found))
    second = [f"L{c.level} {c.bytes >> 10}K, {c.ways} ways" for c in described_caches()]
    if trip := spell_round_trip():
        second.append(trip)
    if hasattr(os, "getloadavg"):
        second.append(f"load {os.getloadavg()[0]:.1f}")
    return "; ".join(first) + "\n" + "; ".join(second)


def _facts() -> dict[str, str]:
    """What Linux says of the first processor; nothing elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
    except OSError:
        return {}
    pairs = (line.partition(":") for line in lines)
    return {key.strip(): value.strip() for key, _, value in pairs}


if __name__ == "__main__":
    print(about_processor())
