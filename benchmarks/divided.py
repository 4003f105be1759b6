"""Programs divided by `spmd-partitioning`, beside XLA's division: `python -m benchmarks.divided`.

For each of 62 JAX programs (`divided_programs`): whether eight devices compute its value on the
interpreter, and the collectives of the module, their number and the bytes of their results, beside
those of the module that XLA CPU runs.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

import hlo
import interpreter
from benchmarks.divided_programs import PROGRAMS, lowered, values
from optimizer.log import Log
from optimizer.observers import Verify
from optimizer.partitioning.cuts import cut_of
from optimizer.partitioning.sharding_propagation import ShardingPropagation
from optimizer.pipeline_text import parse_pipeline

if TYPE_CHECKING:
    from hlo.types.sharding import Sharding

DEVICES = 8
# XLA's module has been through such passes, too.
DIVISION = parse_pipeline(
    "spmd-partitioning{entry=true},cse,all-gather-combiner,all-reduce-combiner,"
    "reduce-scatter-combiner"
)


class Row(NamedTuple):
    """One program.

    Attributes
    ----------
    wrong : where a device's result is not its part of the program's; "" where all are right.
    ours, xla : how many collectives of each opcode there are.
    bytes, xla_bytes : of their results.
    """

    wrong: str
    ours: Counter[str]
    bytes: int
    xla: Counter[str]
    xla_bytes: int


def collectives(module: hlo.Module) -> tuple[Counter[str], int]:
    """The collectives of a module, and the bytes of their results."""
    found = [i for i in module.instructions() if "collective" in i.row.traits]
    return Counter(i.opcode for i in found), sum(i.shape.bytes for i in found)


def part_of(value: np.ndarray, sharding: Sharding | None, device: int) -> np.ndarray:
    """A device's part of an array; zeros where it reaches past the end."""
    cut = cut_of(sharding, value.ndim) if sharding else None
    for dim, axis in enumerate(cut.dims if cut else ()):
        if axis:
            block = -(-value.shape[dim] // axis.count)
            padding = [(0, 0)] * value.ndim
            padding[dim] = (0, block * axis.count - value.shape[dim])
            wide = np.pad(value, padding)
            value = np.take(
                wide, range(axis.places[device] * block, (axis.places[device] + 1) * block), dim
            )
    return value


def difference(whole: np.ndarray, sharding: Sharding | None, device: int, got: Any) -> str:
    """Where a device's result is not its part; rows past the end may be anything."""
    want = part_of(whole, sharding, device)
    exists = part_of(np.ones(whole.shape, bool), sharding, device)
    if np.shape(got) != want.shape:
        return f"device {device} has {np.shape(got)}, not {want.shape}"
    fits = np.isclose(got, want, rtol=2e-3, atol=1e-4, equal_nan=True) | ~exists
    return "" if fits.all() else f"device {device} differs by {np.abs(got - want)[exists].max()}"


def measured(name: str) -> Row:
    """One program, divided here and by XLA."""
    stage = lowered(name)
    module = hlo.parse(stage.compiler_ir("hlo").as_hlo_text())
    compiled = stage.compile()
    arguments = values(name)
    if PROGRAMS[name].result is None:
        count = len(module.entry.root.shape.leaves())
        header = replace(module.header, allow_spmd_sharding_propagation_to_output=(True,) * count)
        module = replace(module, header=header)
    module = ShardingPropagation().run(module, Log())
    made = Log(observers=[Verify()]).run(DIVISION, module)
    hlo.verify(hlo.parse(str(made)))
    placed = [
        jax.device_put(a, s) for a, s in zip(arguments, compiled.input_shardings[0], strict=True)
    ]
    whole = [np.asarray(x) for x in jax.tree.leaves(compiled(*placed))]
    kept = compiled._executable._kept_var_idx  # noqa: SLF001  no public name tells it
    fed = [arguments[n] for n in sorted(kept)]
    shardings = [p.annotations.sharding for p in module.entry.parameters]
    results = module.entry.root.annotations.sharding
    each = (
        [results] * len(whole) if results is None or results.kind != "tuple" else results.elements
    )
    given = [
        [part_of(a, s, device) for a, s in zip(fed, shardings, strict=True)]
        for device in range(DEVICES)
    ]
    wrong = ""
    for device, got in enumerate(interpreter.evaluate(made, per_device=given)):
        leaves = got if isinstance(got, tuple) else (got,)
        for want, sharding, leaf in zip(whole, each, leaves, strict=True):
            wrong = wrong or difference(want, sharding, device, leaf)
    return Row(wrong, *collectives(made), *collectives(hlo.parse(compiled.as_text())))


def listed(found: Counter[str]) -> str:
    """The collectives in a few words."""
    return ", ".join(f"{n} {opcode}" for opcode, n in sorted(found.items())) or "none"


def main(names: list[str]) -> None:
    """Print the table."""
    jax.config.update("jax_num_cpu_devices", DEVICES)
    jax.config.update("jax_platforms", "cpu")
    right = at_most = 0
    for name in names or PROGRAMS:
        row = measured(name)
        right += not row.wrong
        at_most += row.bytes <= row.xla_bytes
        mark = "" if row.bytes <= row.xla_bytes else "MORE"
        counts = f"{row.bytes:7} {row.xla_bytes:7} {mark:4}"
        print(f"{name:22} {counts} {listed(row.ours)} | {listed(row.xla)}", row.wrong)
    print(f"{right} right, {at_most} with at most XLA's bytes, of {len(names or PROGRAMS)}")


if __name__ == "__main__":
    main(sys.argv[1:])
