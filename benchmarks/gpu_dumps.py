"""Launches and bytes of PyHLO's kernels beside those of XLA's GPU pipeline, from a folder of dumps.

    XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_as_text' python program.py   # where there is a GPU
    python -m benchmarks.gpu --only model --xla-dump DIR                     # anywhere

XLA's side is read from its optimized text: each instruction that is neither a name for memory nor
control flow is one launch, or one call of a library; `optimizer.analysis.cost` counts its bytes. A
loop counts one iteration on both sides.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import emit_cuda
import hlo
import optimizer
from emit_cuda.launches import asked, device_named
from hlo.errors.error import HloError
from hlo.opcode import SEQUENTIAL
from optimizer.analysis.cost import FREE, cost

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hlo.instruction import Computation, Module

_AFTER = re.compile(r"(.*?)\.(?:sm_[\w.]+_)?gpu_after_optimizations\.(?:txt|hlo)")


def pairs(folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """The modules of a dump: a name, the text before XLA's passes, and the text after them."""
    for after in sorted(folder.iterdir()):
        if found := _AFTER.fullmatch(after.name):
            for suffix in ("txt", "hlo"):
                before = folder / f"{found[1]}.before_optimizations.{suffix}"
                if before.exists():
                    yield found[1], before, after


def launched(module: Module) -> tuple[int, int]:
    """How many launches and calls of libraries an optimized module asks for, and their bytes."""
    return _launched(module.entry)


def _launched(computation: Computation) -> tuple[int, int]:
    count = moved = 0
    for instr in computation.instructions:
        if instr.opcode in SEQUENTIAL:
            inside = [_launched(called) for called in instr.called]
            count, moved = count + sum(n for n, _ in inside), moved + sum(b for _, b in inside)
        elif instr.opcode not in FREE and "done" not in instr.row.traits:
            count, moved = count + 1, moved + cost(instr).bytes_accessed
    return count, moved


def compare(folder: Path) -> int:
    """Print a line for each module of a dump; how many could not be read or compiled."""
    print(f"\nBeside XLA's GPU pipeline, by the texts in {folder}\n")
    print("| module | launches | XLA | MB | XLA | bytes of XLA / ours |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    failed = 0
    for name, before, after in pairs(folder):
        try:
            made = optimizer.prepare(emit_cuda.optimized(hlo.load(before)), "gpu")
            rows = asked(emit_cuda.emit(made), device_named("H100"))
            theirs, their_bytes = launched(hlo.load(after))
        except HloError as error:
            failed += 1
            print(f"| {name} | {error.code} | | | | |")
            continue
        ours = sum(row.bytes for row in rows)
        print(
            f"| {name} | {len(rows)} | {theirs} | {ours / 1e6:.1f} | {their_bytes / 1e6:.1f} | "
            f"{their_bytes / max(ours, 1):.2f} |"
        )
    return failed
