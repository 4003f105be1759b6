"""Programs divided by `spmd-partitioning`, beside XLA's division: `python -m benchmarks.divided`.

For each of 62 JAX programs (`divided_programs`): whether eight devices compute its value, as the
interpreter's, as threads that run C, and as processes that run it, with MPI; and the collectives of
the module, their number and the bytes of their results, beside those of the module that XLA CPU
runs.
"""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

import emit_c
import hlo
import interpreter
from benchmarks.divided_programs import PROGRAMS, lowered, values
from emit_c.executable.processes import processes_of
from optimizer.log import Log
from optimizer.observers import Verify
from optimizer.partitioning.cuts import cut_of
from optimizer.partitioning.sharding_propagation import ShardingPropagation
from optimizer.pipeline_text import parse_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.types.sharding import Sharding

DEVICES = 8
# XLA's module has been through such passes, too.
DIVISION = parse_pipeline(
    "spmd-partitioning{entry=true},cse,all-gather-combiner,all-reduce-combiner,"
    "reduce-scatter-combiner"
)


class Divided(NamedTuple):
    """A program that is divided.

    Attributes
    ----------
    made : what each device runs.
    given : the arguments of each device.
    whole, shardings : the results, and how they are cut.
    xla : the module that XLA CPU runs.
    """

    made: hlo.Module
    given: list[list[np.ndarray]]
    whole: list[np.ndarray]
    shardings: Sequence[Sharding | None]
    xla: hlo.Module


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


def divided(name: str) -> Divided:
    """A program, divided here and by XLA."""
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
    # As a user would hand it on: by its text.
    return Divided(hlo.parse(str(made)), given, whole, each, hlo.parse(compiled.as_text()))


def wrong(program: Divided, got: list[Any]) -> str:
    """Where a device's result is not its part of the program's; "" where all are right."""
    for device, value in enumerate(got):
        leaves = value if isinstance(value, tuple) else (value,)
        for want, sharding, leaf in zip(program.whole, program.shardings, leaves, strict=True):
            if problem := difference(want, sharding, device, leaf):
                return problem
    return ""


# Ways to run a program on all devices, in one process.
ENGINES: dict[str, Callable[[Divided], list[Any]]] = {
    "interpreter": lambda p: interpreter.evaluate(p.made, per_device=p.given),
    "C": lambda p: emit_c.compile(p.made)(per_device=p.given),
}


def by_messages(programs: dict[str, Divided]) -> dict[str, list[Any]]:
    """The values of programs on the devices of as many processes; {} without a library of MPI."""
    here = str(Path(sys.executable).parent)
    launcher = shutil.which("mpiexec", path=here) or shutil.which("mpiexec")
    if launcher is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        texts = {name: (str(p.made), p.given) for name, p in programs.items()}
        (Path(folder) / "programs").write_bytes(pickle.dumps(texts))
        command = [launcher, "-n", str(DEVICES), sys.executable, "-m", "benchmarks.divided"]
        subprocess.run([*command, "--process", folder], check=True)
        each = [pickle.loads((Path(folder) / str(d)).read_bytes()) for d in range(DEVICES)]
    return {name: [values[name] for values in each] for name in programs}


def run_process(folder: Path) -> None:
    """Be one of several processes, and a device: run the programs of a folder."""
    process, values = processes_of(), dict[str, Any]()
    for name, (text, given) in pickle.loads((folder / "programs").read_bytes()).items():
        # The first one compiles, and the others find that in the cache.
        if process.rank:
            process.gather(b"compiled")
        made = emit_c.compile(hlo.parse(text))
        if not process.rank:
            process.gather(b"compiled")
        values[name] = made(*given[process.rank], communicator=process)
    (folder / str(process.rank)).write_bytes(pickle.dumps(values))


def listed(found: Counter[str]) -> str:
    """The collectives in a few words."""
    return ", ".join(f"{n} {opcode}" for opcode, n in sorted(found.items())) or "none"


def main(names: list[str]) -> None:
    """Print the table."""
    jax.config.update("jax_num_cpu_devices", DEVICES)
    jax.config.update("jax_platforms", "cpu")
    at_most, right, programs = 0, Counter[str](), dict[str, Divided]()
    for name in names or PROGRAMS:
        program = programs[name] = divided(name)
        found = {engine: wrong(program, run(program)) for engine, run in ENGINES.items()}
        right.update(engine for engine, problem in found.items() if not problem)
        (ours, own), (theirs, xla) = map(collectives, (program.made, program.xla))
        at_most += own <= xla
        mark = "" if own <= xla else "MORE"
        problems = [f"{engine}: {problem}" for engine, problem in found.items() if problem]
        print(f"{name:22} {own:7} {xla:7} {mark:4} {listed(ours)} | {listed(theirs)}", *problems)
    for name, got in by_messages(programs).items():
        problem = wrong(programs[name], got)
        right["MPI"] += not problem
        if problem:
            print(f"{name:22} MPI: {problem}")
    of = len(programs)
    print("right:", ", ".join(f"{engine} {count} of {of}" for engine, count in right.items()))
    print(f"with at most XLA's bytes: {at_most} of {of}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--process"]:
        run_process(Path(sys.argv[2]))
    else:
        main(sys.argv[1:])
