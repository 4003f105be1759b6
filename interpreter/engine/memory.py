"""The memory of an evaluation, estimated before any of it is taken.

HLO text is short and its shapes are not: a hundred bytes can ask for a petabyte.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.opcode import CONTROL, GIVEN, IDENTITIES, SAME_ORDER, TUPLES, VIEWS
from hlo.types.tiling import fill_same_memory, filled_elements
from interpreter.engine.elided import is_elided

try:
    import resource
except ImportError:  # a system without limits for processes
    resource = None

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hlo.instruction import Computation, Instruction, Module
    from hlo.types.shape import Shape

# NumPy gives a view of the operand's memory, whose elements may not lie one after the other.
_VIEWS = VIEWS - SAME_ORDER
# These make no array of their own: NumPy gives a view, or the value is there already.
_NO_MEMORY = GIVEN | TUPLES | CONTROL | (IDENTITIES | VIEWS) - {"copy"} | {"after-all", "fusion"}
# Opcodes that need arrays whose elements lie one after the other copy other arrays.
_COPYING = {
    *("bitcast", "bitcast-convert", "reshape", "dot", "ragged-dot", "convolution", "sort"),
    *("fft", "cholesky", "triangular-solve"),
}
# A module that needs less is run without asking the system, which takes longer than adding scalars.
ALWAYS_THERE = 64 * 2**20  # bytes
# A device takes so many bytes without any array: its thread's stack, its frames and its names.
DEVICE_BYTES = 2**15
_MEMORY_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def peak_bytes(module: Module) -> int:
    """Bytes of the values that are alive together at the worst moment, arguments not counted.

    An estimate: values are freed after their last use, and called computations are counted on
    top of what is alive when they are called.
    """
    peaks: dict[Computation, int] = {}
    for computation in module.computations:
        peaks[computation] = _computation_peak(computation, peaks)
    return peaks[module.entry]


def _computation_peak(computation: Computation, peaks: dict[Computation, int]) -> int:
    last_use: dict[Instruction, Instruction] = {}
    for instr in computation.instructions:
        last_use.update(dict.fromkeys((instr, *instr.operands), instr))
    dies: dict[Instruction, list[Instruction]] = {}
    for instr, user in last_use.items():
        dies.setdefault(user, []).append(instr)
    alive = peak = 0
    for instr in computation.instructions:
        alive += _own_bytes(instr)
        peak = max(peak, alive + max((peaks.get(c, 0) for c in instr.called), default=0))
        alive -= sum(_own_bytes(dead) for dead in dies.get(instr, ()))
    return peak


def _own_bytes(instr: Instruction) -> int:
    own = 0 if instr.opcode in _NO_MEMORY and not is_elided(instr) else instr.shape.unpacked_bytes
    copied = [o for o in instr.operands if o.opcode in _VIEWS] if instr.opcode in _COPYING else []
    if instr.opcode == "bitcast" and fill_same_memory(instr.operands[0].shape, instr.shape):
        # Padding is put around the tiles, which are then moved.
        own += sum(2 * filled_elements(s) * s.element_type.bytes for s in _sides(instr))
    return own + sum(o.shape.unpacked_bytes for o in copied)


def _sides(instr: Instruction) -> tuple[Shape, Shape]:
    return instr.operands[0].shape, instr.shape


def available_bytes() -> int:
    """Bytes that this process may still take, as far as the system says; else a tebibyte."""
    limits = [2**40]
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        rows = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        limits.append(int(rows.get("MemAvailable", rows["MemTotal"]).split()[0]) * 1024)
    limits += _addresses()
    for name in _MEMORY_FILES:
        text = Path(name).read_text().strip() if Path(name).exists() else "max"
        limits += [int(text)] if text != "max" else []
    return min(limits)


def _addresses() -> list[int]:
    """Bytes for which this process may still have addresses, if that is limited (`ulimit -v`)."""
    pages = Path("/proc/self/statm")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0] if resource else -1
    if resource is None or limit == resource.RLIM_INFINITY or not pages.exists():
        return []
    return [max(0, limit - int(pages.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE"))]


def refuse_too_large(module: Module, devices: int) -> None:
    """Raise an error if an evaluation would not fit into memory.

    Raises
    ------
    HloError
        HLO113, with the number of bytes and the largest instruction.
    """
    refuse_bytes(module.name, module.instructions(), peak_bytes(module) * devices)


def refuse_elided(module: Module) -> None:
    """Raise an error if the constants that a text elides would not fit into memory.

    Raises
    ------
    HloError
        HLO113, as `refuse_too_large`.
    """
    needed = sum(i.shape.unpacked_bytes for i in module.instructions() if is_elided(i))
    refuse_bytes(module.name, module.instructions(), needed)


def refuse_bytes(name: str, instructions: Iterable[Instruction], needed: int) -> None:
    """Raise an error if so many bytes do not fit into memory.

    Parameters
    ----------
    name : of what needs them.
    instructions : the largest of them is told.

    Raises
    ------
    HloError
        HLO113, as `refuse_too_large`.
    """
    if needed > ALWAYS_THERE and needed > (available := available_bytes()):
        largest = max(instructions, key=lambda instr: instr.shape.unpacked_bytes)
        size = f"{largest.shape.unpacked_bytes:,} bytes of {largest.shape}"
        raise HloError(
            "HLO113",
            f"{name} needs about {needed:,} bytes, and {available:,} are available",
            largest.span,
            [f"the largest value is %{largest.name}: {size}"],
        )
