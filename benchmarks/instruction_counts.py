"""How many instructions are left after simplification: ours beside XLA CPU's own.

python -m benchmarks.instruction_counts [FILE.hlo ...]

XLA writes the module after each of its passes; the last one of its `simplification` pipeline, or of
whatever comes before where that changes nothing, is counted. Ours is the module after the first
pipeline of that name: as XLA's, before select-and-scatter is expanded. Without files, the models of
the tests are taken. XLA compiles for one device, and so do we here. What its CPU refuses is listed
below the table.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

# Read when JAX is imported.
DUMPS = tempfile.TemporaryDirectory()
os.environ["XLA_FLAGS"] = (
    f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={DUMPS.name} --xla_dump_hlo_as_text "
    "--xla_dump_hlo_pass_re=.* --xla_force_host_platform_device_count=4"
)

import jaxlib  # noqa: E402
from jax._src import xla_bridge  # noqa: E402
from jax._src.lib import xla_client  # noqa: E402
from jax.errors import JaxRuntimeError  # noqa: E402

import hlo  # noqa: E402
from benchmarks.measure import table  # noqa: E402
from optimizer import Log, pipeline  # noqa: E402
from optimizer.log import Silent  # noqa: E402

if TYPE_CHECKING:
    from optimizer import Pass

MODELS = Path(__file__).parents[1] / "tests" / "models"
# The pipeline around XLA's simplification, and its own name.
OUTER, INNER = "HLO_passes_through_layout_assignment", "simplification"
HEAD = ("", "before", "XLA CPU", "ours", "only XLA has", "only we have")


class After(Silent):
    """Keeps what a pipeline made first."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module: hlo.Module | None = None

    def after(self, pass_: Pass, before: hlo.Module, after: hlo.Module, log: Log) -> None:  # noqa: ARG002
        """Keep it, if it is the one."""
        if pass_.name == self.name and self.module is None:
            self.module = after


def simplified_by_xla(text: str) -> hlo.Module:
    """The module after XLA's simplification."""
    before = set(Path(DUMPS.name).iterdir())
    proto = jaxlib._hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()  # noqa: SLF001
    computation = xla_client.XlaComputation(proto)
    program = xla_client._xla.mlir.xla_computation_to_mlir_module(computation)  # noqa: SLF001
    backend = xla_bridge.get_backend("cpu")
    devices = xla_client.DeviceList(tuple(backend.local_devices()[:1]))
    backend.compile_and_load(program, devices, xla_client.CompileOptions())
    new = sorted(set(Path(DUMPS.name).glob("*.txt")) - before)
    stages = [p for p in new if f".{OUTER}.after_" in p.name or f".{INNER}.after_" in p.name]
    last = next((p for p in stages if ".before_select_and_scatter_expander" in p.name), None)
    inner = [p for p in stages if f".{INNER}.after_" in p.name]
    return hlo.parse((last or inner[-1]).read_text())


def simplified_by_us(module: hlo.Module) -> hlo.Module:
    """The module after our simplification."""
    watcher = After(INNER)
    Log(observers=[watcher]).run(pipeline("cpu"), module)
    assert watcher.module is not None
    return watcher.module


def opcodes(module: hlo.Module) -> Counter[str]:
    """How often each opcode occurs."""
    return Counter(i.opcode for i in module.instructions())


def spell(more: Counter[str]) -> str:
    """The three commonest."""
    return ", ".join(f"{count} {opcode}" for opcode, count in more.most_common(3))


def row(path: Path) -> tuple[str, ...]:
    """The line of one model."""
    text = path.read_text()
    before = hlo.parse(text)
    before = replace(before, header=replace(before.header, num_partitions=1))
    theirs, ours = opcodes(simplified_by_xla(text)), opcodes(simplified_by_us(before))
    counts = (opcodes(before).total(), theirs.total(), ours.total())
    name = f"{path.parent.name}/{path.stem}"
    return (name, *map(str, counts), spell(theirs - ours), spell(ours - theirs))


def main(paths: list[Path]) -> None:
    """Print a line a model."""
    rows: list[tuple[str, ...]] = []
    refused: list[str] = []
    for path in paths:
        try:
            rows.append(row(path))
        except JaxRuntimeError as error:
            refused.append(f"{path}: {str(error).splitlines()[0]}")
    print(table(HEAD, rows), *refused, sep="\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="HLO text")
    main(parser.parse_args().files or sorted(MODELS.glob("*.hlo")))
