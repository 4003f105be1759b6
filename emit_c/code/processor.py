"""What the processor of this machine has: code is compiled for it, and written for it."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

# By what the system calls the instructions: bytes of vectors, and how many vectors there are.
_OF_X86 = {"avx512f": (64, 32), "avx": (32, 16), "": (16, 16)}
_OF_ARM = (16, 32)


@dataclass(frozen=True, slots=True)
class Processor:
    """What the vectors of a processor are like.

    Attributes
    ----------
    vector_bytes : of the widest.
    registers : how many there are.
    sums_bytes : whether an instruction multiplies bytes, and adds four products at once to a sum.
    """

    vector_bytes: int
    registers: int
    sums_bytes: bool


@cache
def described() -> str:
    """What the system tells of the processor, for the key of a cache that machines may share."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.platform() + platform.processor()
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(wanted)))


@cache
def here() -> Processor:
    """The processor of this machine; where the system tells nothing, what all of a family have."""
    flags = next((line for line in described().splitlines() if line.startswith("flags")), "")
    return from_flags(flags.split(), platform.machine())


def from_flags(flags: Collection[str], machine: str) -> Processor:
    """A processor by its instructions and family, as Linux calls them."""
    if machine.lower() in ("aarch64", "arm64"):
        return Processor(*_OF_ARM, sums_bytes=False)
    vectors = next(found for flag, found in _OF_X86.items() if flag in flags or not flag)
    name = "avx512_vnni" if "avx512f" in flags else "avx_vnni"
    return Processor(*vectors, sums_bytes=name in flags)
