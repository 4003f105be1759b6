"""Launches and bytes of PyHLO's kernels beside those of XLA's GPU pipeline, from a folder of dumps.

    XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_as_text' python program.py   # where there is a GPU
    python -m benchmarks.gpu --only model --xla-dump DIR                     # anywhere

`xla_gpu/` has such texts, of an H200, of some of the tests' models.

XLA's side is read from its optimized text: each instruction that is neither a name for memory nor
control flow is one launch, or one call of a library; `optimizer.analysis.cost` counts its bytes. A
loop counts one iteration on both sides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import emit_cuda
import hlo
import optimizer
from emit_cuda.launches import estimates
from hlo.errors.error import HloError
from hlo.opcode import SEQUENTIAL
from optimizer.analysis.cost import FREE, cost
from optimizer.gpu.device import rates_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hlo.instruction import Computation, Module

ROOT = Path(__file__).parents[1]
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


def stored() -> Iterator[tuple[str, Path, Path]]:
    """The tests' models of which there are texts of XLA's: names, texts before and after."""
    for after in sorted((ROOT / "benchmarks" / "xla_gpu").glob("*.hlo")):
        yield after.stem, ROOT / "tests" / "models" / after.name, after


@dataclass(frozen=True, slots=True)
class Beside:
    """Launches, and the bytes that they move: PyHLO's and XLA's."""

    launches: int
    bytes: int
    xla_launches: int
    xla_bytes: int


def beside(before: Path, after: Path) -> Beside:
    """Both sides of a module, by its texts before and after XLA's passes.

    Raises
    ------
    HloError
        if one can't be read or compiled.
    """
    made = optimizer.prepare(emit_cuda.optimized(hlo.load(before)))
    rows = estimates(emit_cuda.emit(made), rates_of("H100"))
    return Beside(len(rows), sum(row.bytes for row in rows), *launched(hlo.load(after)))


def compare(modules: Iterable[tuple[str, Path, Path]]) -> int:
    """Print a line for each module; how many could not be read or compiled."""
    print("\nBeside XLA's GPU pipeline, by its texts\n")
    print("| module | launches | XLA | MB | XLA | bytes of XLA / ours |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    failed = 0
    for name, before, after in modules:
        try:
            both = beside(before, after)
        except HloError as error:
            failed += 1
            print(f"| {name} | {error.code} | | | | |")
            continue
        print(
            f"| {name} | {both.launches} | {both.xla_launches} | {both.bytes / 1e6:.1f} | "
            f"{both.xla_bytes / 1e6:.1f} | {both.xla_bytes / max(both.bytes, 1):.2f} |"
        )
    return failed
