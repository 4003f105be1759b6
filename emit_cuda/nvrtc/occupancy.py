"""Occupancy: the blocks of a kernel that a multiprocessor holds at once, and their limit.

References
----------
NVIDIA, *CUDA C++ Programming Guide*, Compute Capabilities; *CUDA Occupancy Calculator*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from emit_cuda.nvrtc.compiling import Usage

WARP = 32


@dataclass(frozen=True, slots=True)
class Multiprocessor:
    """The resources of a multiprocessor.

    Attributes
    ----------
    warps, blocks : at most, at once.
    registers : of 32 bits; a warp gets a multiple of `register_unit`.
    shared_bytes : for all blocks; a block gets a multiple of `shared_unit`, and the system takes
        `shared_of_system` for each.
    """

    warps: int
    blocks: int
    registers: int
    shared_bytes: int
    register_unit: int = 256
    shared_unit: int = 128
    shared_of_system: int = 1024

    @property
    def most_shared(self) -> int:
        """Bytes of shared memory that a block may ask for."""
        return self.shared_bytes - self.shared_of_system


MULTIPROCESSORS: Final = {
    "sm_80": Multiprocessor(64, 32, 65536, 164 << 10),
    "sm_86": Multiprocessor(48, 16, 65536, 100 << 10),
    "sm_89": Multiprocessor(48, 24, 65536, 100 << 10),
    "sm_90": Multiprocessor(64, 32, 65536, 228 << 10),
    "sm_100": Multiprocessor(64, 32, 65536, 228 << 10),
    "sm_120": Multiprocessor(48, 24, 65536, 100 << 10),
}


# Bytes of shared memory that a block may ask for on each of these.
MOST_SHARED_BYTES = min(has.most_shared for has in MULTIPROCESSORS.values())


def most_shared(architecture: str) -> int:
    """Bytes of shared memory that a block may ask for; few, if the architecture is not known."""
    has = MULTIPROCESSORS.get(architecture)
    return has.most_shared if has else MOST_SHARED_BYTES


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The occupancy of a multiprocessor.

    Attributes
    ----------
    blocks : at once.
    warps : at once, of `most_warps`.
    limits : the resource that allows no further block: "warps", "blocks", "registers" or
        "shared memory".
    """

    blocks: int
    warps: int
    most_warps: int
    limits: tuple[str, ...]

    @property
    def share(self) -> float:
        """Of the warps that there could be, from 0 to 1."""
        return self.warps / self.most_warps


def occupancy(
    usage: Usage, threads: int, shared_bytes: int = 0, architecture: str = "sm_90"
) -> Occupancy:
    """The number of blocks of a kernel that a multiprocessor holds at once.

    Parameters
    ----------
    usage : registers and memory of the kernel, by the compiler.
    threads : of a block.
    shared_bytes : of `extern __shared__` memory.

    Raises
    ------
    HloError
        HLO191 if not a single block fits, HLO204 if the architecture is not known.
    """
    if architecture not in MULTIPROCESSORS:
        notes = [f"there are: {', '.join(MULTIPROCESSORS)}"]
        raise HloError("HLO204", f"there is no architecture {architecture!r}", notes=notes)
    has = MULTIPROCESSORS[architecture]
    warps = _up(threads, WARP) // WARP
    of_warp = _up(usage.registers * WARP, has.register_unit)
    shared = _up(usage.shared_bytes + shared_bytes + has.shared_of_system, has.shared_unit)
    # Warps are shared out among four schedulers, each with a quarter of the registers.
    by_registers = has.registers // 4 // of_warp * 4 // warps if of_warp else has.blocks
    allowed = {
        "warps": has.warps // warps,
        "blocks": has.blocks,
        "registers": by_registers,
        "shared memory": has.shared_bytes // shared,
    }
    blocks = min(allowed.values())
    limits = tuple(name for name, most in allowed.items() if most == blocks)
    if not blocks:
        message = f"no block of {threads} threads fits: too many {' and '.join(limits)}"
        raise HloError("HLO191", message)
    return Occupancy(blocks, blocks * warps, has.warps, limits)


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
