"""Kernels, bytes and temporary memory beside XLA CPU: what fusion leaves to do.

python -m benchmarks.fusion FOLDER [--only WORDS] [--memory]

FOLDER holds a folder for each model with `before.hlo`, as a framework hands it to XLA, and
`optimized.hlo`, what XLA CPU made of it (either may be gzipped). Ratios are ours over XLA's, so
less than 1 says that ours is better.

kernels      instructions that need a kernel or a library call, loops counted once
bytes        read and written by them, in the model of `optimizer.analysis.cost`, for both
by jaxlib    the same in the model of jaxlib's `hlo_module_cost_analysis`, for both
temporary    bytes for intermediate values, ours by buffer assignment, XLA's as it reports them once
             it has compiled the model (with `--memory`, since that takes minutes)

Where a ratio is above 1.1 the table is followed by what is known of the cause.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import jax
from jax._src.lib import _jax
from jaxlib import _hlo

import hlo
from benchmarks.measure import geometric_mean, table
from benchmarks.xla import Compiled
from optimizer import optimize
from optimizer.analysis.cost import cost, kernels, module_cost
from optimizer.calls.flatten_call_graph import SEQUENTIAL
from optimizer.fusion.instruction_fusion import sequential_computations
from optimizer.memory.buffer_assignment import assign

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Module

HEAD = ("", "kernels", "XLA", "ratio", "bytes", "XLA", "ratio", "by jaxlib", "temporary")
# Ratios above it are explained.
MUCH = 1.1
# Modules that read and write so little hand numbers from kernel to kernel, not arrays.
FEW_BYTES = 4096


class Model(NamedTuple):
    """A model, and what both made of it."""

    name: str
    text: str
    ours: Module
    theirs: Module


class Row(NamedTuple):
    """The figures of a model, ours and XLA's; of jaxlib's only the ratio, if it is known."""

    model: Model
    kernels: tuple[int, int]
    bytes: tuple[int, int]
    jaxlib: float | None
    memory: tuple[int, int] | None

    @property
    def ratios(self) -> tuple[float | None, ...]:
        """Ours over XLA's, column by column."""
        memory = ratio(*self.memory) if self.memory else None
        return ratio(*self.kernels), ratio(*self.bytes), self.jaxlib, memory


def ratio(ours: float, theirs: float) -> float:
    """Ours over XLA's; 1 where both are nothing."""
    return max(ours, 1) / max(theirs, 1)


def models(folder: Path, only: list[str]) -> Iterator[Model]:
    """All models of a folder whose names hold one of some words, optimized."""
    for each in sorted(folder.iterdir()):
        before, after = text_of(each, "before.hlo"), text_of(each, "optimized.hlo")
        if before and after and (not only or any(word in each.name for word in only)):
            ours = optimize(hlo.parse(before), "cpu", observers=())
            yield Model(each.name, before, ours, hlo.parse(after))


def text_of(folder: Path, name: str) -> str | None:
    """A text, if it is there, gzipped or not."""
    plain, packed = folder / name, folder / f"{name}.gz"
    if plain.exists():
        return plain.read_text()
    return gzip.decompress(packed.read_bytes()).decode() if packed.exists() else None


def measured(model: Model, *, memory: bool) -> Row:
    """The figures of a model."""
    ours, theirs = model.ours, model.theirs
    return Row(
        model,
        (kernels(ours), kernels(theirs)),
        (module_cost(ours).bytes_accessed, module_cost(theirs).bytes_accessed),
        bytes_by_jaxlib(ours, theirs),
        temporary_memory(model) if memory else None,
    )


def bytes_by_jaxlib(ours: Module, theirs: Module) -> float | None:
    """The ratio of bytes in jaxlib's model; None where that knows no such instruction."""
    client = jax.devices("cpu")[0].client
    found: list[float] = []
    for module in (ours, theirs):
        try:
            parsed = _hlo.hlo_module_from_text(module.to_string())
            costs = _jax.hlo_module_cost_analysis(client, parsed)
        except (RuntimeError, ValueError):
            return None
        found.append(costs.get("bytes accessed", 0))
    return ratio(*found)


def temporary_memory(model: Model) -> tuple[int, int] | None:
    """Bytes for intermediate values; None where XLA CPU can't compile the model."""
    try:
        stats = Compiled(model.text).executable.get_compiled_memory_stats()
    except (RuntimeError, ValueError):
        return None
    return assign(model.ours).temporary_bytes, stats.temp_size_in_bytes


def cause(row: Row) -> str:
    """What makes a model dearer than XLA's, as far as it can be told."""
    ours, theirs = row.model.ours, row.model.theirs
    sizes = [sum(p.shape.bytes for p in m.entry.parameters) for m in (ours, theirs)]
    if sizes[1] < sizes[0]:
        return "XLA's module is the part of one device, ours is the whole"
    if not any(r is not None and r > MUCH for r in row.ratios[:3]):
        return "{} bytes of intermediate values, XLA's are {}".format(*(row.memory or ()))
    if any(i.shape.is_dynamic for i in ours.instructions()):
        return "sizes known at run time stay instructions of their own; XLA pads, and masks"
    if module_cost(ours).bytes_accessed <= FEW_BYTES:
        return "kernels hand each other a few numbers that XLA computes again in each of them"
    return f"our dearest kernel is {dearest(ours)}, XLA's is {dearest(theirs)}"


def dearest(module: Module) -> str:
    """The kernel that reads and writes the most."""
    listed = [i for c in sequential_computations(module) for i in c.instructions]
    most = max(
        (i for i in listed if i.opcode not in SEQUENTIAL), key=lambda i: cost(i).bytes_accessed
    )
    return f"{most.name} ({cost(most).bytes_accessed} bytes)"


def cells(row: Row) -> tuple[str, ...]:
    """A row as text."""
    of_kernels, of_bytes, *others = (f"{r:.3f}" if r is not None else "-" for r in row.ratios)
    counts = [[str(n) for n in pair] for pair in (row.kernels, row.bytes)]
    return (row.model.name, *counts[0], of_kernels, *counts[1], of_bytes, *others)


def main() -> None:
    """Print the table, the geometric means, and what is known of the worst."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD")
    parser.add_argument("--memory", action="store_true")
    given = parser.parse_args()
    rows = [measured(model, memory=given.memory) for model in models(given.folder, given.only)]
    print(table(HEAD, [cells(row) for row in rows]))
    print("\ngeometric means of our numbers over XLA's:")
    for name, column in zip(
        ("kernels", "bytes", "bytes by jaxlib", "temporary"),
        zip(*(row.ratios for row in rows), strict=True),
        strict=True,
    ):
        known = [r for r in column if r is not None]
        if known:
            print(f"  {name:16} {geometric_mean(known):.3f}  ({len(known)} models)")
    print(f"\nabove {MUCH}:")
    for row in rows:
        high = [r for r in row.ratios if r is not None and r > MUCH]
        if high:
            print(f"  {row.model.name}: {cause(row)}")


if __name__ == "__main__":
    main()
