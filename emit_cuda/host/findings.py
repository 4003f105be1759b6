"""Findings of checked mode: the structures of threads.h, and their story in words."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from codegen.program.steps import Dim3
    from emit_cuda.cuda_file import CudaFile

# In the order of `Fault` in threads.h: a name, and a sentence of it.
FAULTS: Final = {
    "race": "two threads of a block access a byte, one writes, and no barrier is between them",
    "race between blocks": "two blocks access a byte, and one writes: their order is not defined",
    "out of bounds": "an address is outside of all memory that the kernel was given",
    "misaligned": "an address is no multiple of the size of the vector that is loaded or stored",
    "uninitialised": "shared memory is read that no thread of the block has written",
    "index overflow": "a sum or product of signed integers does not fit in their type",
    "divergent barrier": "some threads of a block or a warp wait where others never come",
    "absent lane": "a warp's operation names or reads a lane that takes no part in it",
    "failed": "the kernel ended the launch itself",
}
_NAMES = tuple(FAULTS)
_NOBODY = 0xFFFFFFFF
_SHARED, _DYNAMIC, _NOWHERE = -1, -2, -3


class CSpot(ctypes.Structure):
    """The position of a thread."""

    thread: ctypes.Array[ctypes.c_uint]
    block: ctypes.Array[ctypes.c_uint]
    line: int
    writes: int
    code: int

    _fields_ = (
        ("thread", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("line", ctypes.c_int),
        ("writes", ctypes.c_int),
        ("code", ctypes.c_uint64),
    )


class CFinding(ctypes.Structure):
    """A finding as threads.cpp notes it."""

    fault: int
    region: int
    offset: int
    bytes: int
    here: CSpot
    other: CSpot
    text: bytes

    _fields_ = (
        ("fault", ctypes.c_int),
        ("region", ctypes.c_int),
        ("offset", ctypes.c_int64),
        ("bytes", ctypes.c_int),
        ("here", CSpot),
        ("other", CSpot),
        ("text", ctypes.c_char * 160),
    )


@dataclass(frozen=True, slots=True)
class Spot:
    """A thread at a line.

    Attributes
    ----------
    access : "reads", "writes" or "updates" (atomically); empty where it is no access.
    line : of the file; 0 where it is not known.
    """

    thread: Dim3
    block: Dim3
    line: int
    access: str = ""

    def __str__(self) -> str:
        """The thread and its line."""
        where = f"thread {_dims(self.thread)} of block {_dims(self.block)}"
        line = f", line {self.line}" if self.line else ""
        return where + line + (f": {self.access}" if self.access else "")


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake that a kernel made.

    Attributes
    ----------
    fault : a key of `FAULTS`.
    kernel, file : where.
    here : the thread that was noticed, and its line.
    other : the thread with which it disagrees; None if there is none.
    memory : which bytes, as "byte 12 of argument 0"; empty where it is about none.
    detail : further words.
    source : the line of the file.
    instruction : the HLO that the line computes; empty if no comment says so.
    """

    fault: str
    kernel: str
    file: str
    here: Spot
    other: Spot | None
    memory: str
    detail: str
    source: str
    instruction: str

    @property
    def line(self) -> int:
        """The line of the file; 0 where it is not known."""
        return self.here.line

    def __str__(self) -> str:
        """All of it, a line for each part."""
        parts = [f"{self.file}:{self.line}: {self.fault} in {self.kernel}"]
        if self.source:
            parts.append(f"    {self.source}")
        memory = f" {self.memory}" if self.memory else ""
        parts.append(f"  {self.here}{memory}" if self.here.access else f"  {self.here}")
        if self.other:
            parts.append(f"  {self.other}")
        if self.detail:
            parts.append(f"  {self.detail}")
        parts.append(f"  {FAULTS[self.fault]}")
        if self.instruction:
            parts.append(f"  it computes {self.instruction}")
        return "\n".join(parts)


def _dims(dims: Dim3) -> str:
    """An index without the axes that are not used."""
    used = list(dims)
    while len(used) > 1 and not used[-1]:
        used.pop()
    return str(used[0]) if len(used) == 1 else f"({', '.join(map(str, used))})"


def findings(
    records: Iterable[CFinding], kernel: str, file: CudaFile, library: Path, names: Sequence[str]
) -> tuple[Finding, ...]:
    """Findings in words; of those of one kind at the same lines, the first.

    Parameters
    ----------
    names : of the launch's regions of memory.
    """
    every = list(records)
    codes = {spot.code - 1 for record in every for spot in (record.here, record.other) if spot.code}
    lines = lines_of(library, sorted(codes), file.name)
    unique: dict[tuple[str, int, int | None], Finding] = {}
    for record in every:
        finding = _finding(record, kernel, file, lines, names)
        lines_of_both = finding.here.line, finding.other and finding.other.line
        unique.setdefault((finding.fault, *lines_of_both), finding)
    return tuple(unique.values())


def _finding(
    record: CFinding, kernel: str, file: CudaFile, lines: dict[int, int], names: Sequence[str]
) -> Finding:
    fault = _NAMES[record.fault]
    about_memory = record.bytes > 0
    here = _spot(record.here, lines, about_memory=about_memory)
    no_other = record.other.block[0] == _NOBODY
    other = None if no_other else _spot(record.other, lines, about_memory=about_memory)
    return Finding(
        fault,
        kernel,
        file.name,
        here,
        other,
        _memory(record, names) if about_memory or record.region >= 0 else "",
        record.text.decode(errors="replace"),
        file.line(here.line),
        file.about(here.line),
    )


def _spot(spot: CSpot, lines: dict[int, int], *, about_memory: bool) -> Spot:
    x, y, z = spot.thread
    a, b, c = spot.block
    line = spot.line or lines.get(spot.code - 1, 0)
    access = ("reads", "writes", "updates")[spot.writes] if about_memory else ""
    return Spot((x, y, z), (a, b, c), line, access)


def _memory(spot: CFinding, names: Sequence[str]) -> str:
    size = f"{spot.bytes} bytes" if spot.bytes != 1 else "a byte"
    if spot.region == _NOWHERE or spot.region < _NOWHERE:
        return f"{size} at address {spot.offset & (1 << 64) - 1:#x}"
    whose = {_SHARED: "the shared variables", _DYNAMIC: "the extern shared memory"}
    name = names[spot.region] if spot.region >= 0 else whose[spot.region]
    before = f"{-spot.offset} bytes before" if spot.offset < 0 else f"at byte {spot.offset} of"
    return f"{size} {before} {name}"


def lines_of(library: Path, codes: Sequence[int], file: str) -> dict[int, int]:
    """The lines of a file that a library's instructions were compiled from, as far as known.

    An instruction in a function of a header belongs to the line of the file that calls it.
    """
    tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if not tool or not codes:
        return {}
    command = [tool, "-i", "-a", "-e", str(library), *(f"{code:#x}" for code in codes)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    lines: dict[int, int] = {}
    code = 0
    for row in answer.splitlines():
        if row.startswith("0x"):
            code = int(row, 16)
            continue
        name, _, number = row.partition(" ")[0].rpartition(":")
        if name.endswith(file) and number.isdigit():
            lines.setdefault(code, int(number))
    return lines
