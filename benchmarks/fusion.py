"""Kernels, bytes and temporary memory beside XLA CPU: what fusion leaves to do.

python -m benchmarks.fusion FOLDER [--only WORDS] [--memory]

FOLDER holds a folder for each model with `before.hlo`, as a framework hands it to XLA, and
`optimized.hlo`, what XLA CPU made of it (either may be gzipped). Of a model for several devices
that is the part of one device, so ours begins with that part too, as XLA's partitioner makes it.
Ratios are ours over XLA's, so less than 1 says that ours is better.

kernels      instructions that need a kernel or a library call, loops counted once
bytes        read and written by them, in the model of `optimizer.analysis.cost`, for both
by jaxlib    the same in the model of jaxlib's `hlo_module_cost_analysis`, for both; it counts what
             is in a fusion otherwise than what is outside, and XLA CPU leaves nothing
             outside that loops over elements, so ours is put into fusions too
temporary    bytes for intermediate values, ours by buffer assignment, XLA's as it reports them once
             it has compiled the model (with `--memory`, since that takes minutes)

Where a ratio is above 1.1 the cause is below the table.
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
from benchmarks.partitioned import part_of_one_device, prepare
from benchmarks.xla import Compiled
from hlo.walk import names_of, rebuild, rebuild_module
from optimizer import optimize
from optimizer.analysis.cost import cost, kernels, module_cost
from optimizer.calls.flatten_call_graph import SEQUENTIAL
from optimizer.fusion.build import fused
from optimizer.fusion.kernels import sequential_computations
from optimizer.fusion.policy import ELEMENTWISE, FOLDS, MOVEMENT
from optimizer.memory.buffer_assignment import assign

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Computation, Module

HEAD = ("", "kernels", "XLA", "ratio", "bytes", "XLA", "ratio", "by jaxlib", "temporary")
# Ratios above it are explained.
MUCH = 1.1
# What XLA CPU puts into fusions of their own.
LOOPING = (ELEMENTWISE | MOVEMENT | FOLDS | {"scatter"}) - {"bitcast", "copy", "reshape"}
# Causes that were found instruction by instruction, in both modules.
FOUND = {
    "jax_f_random_rbg_threefry": "our kernels store the bits of rng-bit-generator, 52 bytes; XLA "
    "expands it into some 200 operations, and computes them in the fusion that uses the bits",
    "jax_hf_bert_tiny_train": "GELU's gradient needs 11 values that the forward kernel has too; it "
    "stores them, XLA computes some 70 operations again. With policy CPU.repeated = 100 so do we: "
    "0.6 of the memory, but other models then ran up to 1.4 times as long",
    "jax_k_nbody": "XLA hands the forces to a library (ynn_fusion), whose own memory neither model "
    "counts; ours stores the 64 x 64 powers, 16 KB, of which each is used 3 times",
    "tf_f_stateless_random": "our kernels store the bits of four rng-bit-generators; XLA expands "
    "these, and computes the bits in the fusions that use them",
}


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
            part = part_of_one_device(before)
            ours = optimize(hlo.parse(part), "cpu", observers=())
            yield Model(each.name, part, ours, hlo.parse(after))


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
    for module in (wrapped(ours), theirs):
        try:
            parsed = _hlo.hlo_module_from_text(module.to_string())
            costs = _jax.hlo_module_cost_analysis(client, parsed)
        except (RuntimeError, ValueError):
            return None
        found.append(costs.get("bytes accessed", 0))
    return ratio(*found)


def wrapped(module: Module) -> Module:
    """The module with a fusion around everything that loops over elements, as XLA CPU has them."""
    names = names_of(module)
    sequences = {c.name for c in sequential_computations(module)}

    def change(computation: Computation) -> Computation:
        alone = computation.instructions if computation.name in sequences else ()
        looping = [i for i in alone if i.opcode in LOOPING and i.shape.is_array]
        return rebuild(computation, {i: fused([i], [i], names, [i]) for i in looping})

    return rebuild_module(module, change)


def temporary_memory(model: Model) -> tuple[int, int] | None:
    """Bytes for intermediate values; None where XLA CPU can't compile the model."""
    try:
        stats = Compiled(model.text).executable.get_compiled_memory_stats()
    except (RuntimeError, ValueError):
        return None
    return assign(model.ours).temporary_bytes, stats.temp_size_in_bytes


def cause(row: Row) -> str:
    """The cause that makes a model dearer than XLA's, or the place to look."""
    known = FOUND.get(row.model.name)
    found = f"our dearest kernel is {dearest(row.model.ours)}, XLA's is {dearest(row.model.theirs)}"
    return known or f"not looked into; {found}"


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
    prepare()
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
