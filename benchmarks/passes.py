"""CPU seconds of the optimizer's passes over modules that grow: they should grow no faster.

python -m benchmarks.passes [--target cpu|gpu] [--rows N] [FILE.hlo ...]

Without files, a training step of a transformer of 2, 4, 8 and 16 layers is taken. Each time is the
better one of two runs. The last column tells how much longer the last module takes than the first,
over how much larger it is: 1 is linear, and more is worse.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import hlo
from benchmarks.measure import table
from benchmarks.networks import gpt_text
from optimizer import optimize
from optimizer.observers import Timer

LAYERS = (2, 4, 8, 16)
# Seconds below which a pass's growth says nothing.
LITTLE = 0.01


def seconds(text: str, target: str) -> dict[str, float]:
    """The CPU seconds of each pass, pipelines included."""
    runs: list[dict[str, float]] = []
    for _ in range(2):
        watch = Timer()
        optimize(hlo.parse(text), target, observers=[watch])
        runs.append(watch.seconds)
    return {name: min(run.get(name, 0.0) for run in runs) for name in runs[0]}


def main() -> None:
    """Print a row a pass, the slowest on the largest module first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.hlo")
    parser.add_argument("--target", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--rows", type=int, default=25)
    given = parser.parse_args()
    layers = () if given.files else LAYERS
    texts = {path.stem: path.read_text() for path in given.files}
    texts |= {f"{n} layers": gpt_text(n) for n in layers}
    sizes = [sum(1 for _ in hlo.parse(text).instructions()) for text in texts.values()]
    found = [seconds(text, given.target) for text in texts.values()]
    names = sorted(found[-1], key=lambda name: -found[-1][name])[: given.rows]
    rows = [("instructions", *map(str, sizes), "")]
    for name in names:
        times = [times.get(name, 0.0) for times in found]
        growth = times[-1] / max(times[0], 1e-9) / (sizes[-1] / sizes[0])
        told = f"{growth:.2f}" if times[0] > LITTLE else ""
        rows.append((name, *(f"{t:.3f}" for t in times), told))
    print(table(("CPU seconds", *texts, "growth"), rows))


if __name__ == "__main__":
    main()
