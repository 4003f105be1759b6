"""Real training scripts on PyHLO and on XLA CPU: the same losses, and the time of a step.

    pip install flax optax equinox numpyro
    python -m benchmarks.train [SCRIPT ...]

Each script runs unchanged, in a process of its own, with another `JAX_PLATFORMS`. The first step
compiles; the time of a step is the median of the others' last half, when C has taken over.
"""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from statistics import median
from typing import NamedTuple

SCRIPTS = ("flax_cnn", "equinox_transformer", "numpyro_regression")
WAYS = {
    "XLA CPU": {"JAX_PLATFORMS": "cpu"},
    "PyHLO, interpreter": {"JAX_PLATFORMS": "pyhlo,cpu", "PYHLO_JAX_ENGINE": "interpreter"},
    "PyHLO, C": {"JAX_PLATFORMS": "pyhlo,cpu", "PYHLO_JAX_ENGINE": "c"},
    "PyHLO, auto": {"JAX_PLATFORMS": "pyhlo,cpu", "PYHLO_JAX_ENGINE": "auto"},
}


class Run(NamedTuple):
    """The results of a script: losses, and the seconds of a later step."""

    losses: list[float]
    step: float


def run(script: str, environment: dict[str, str]) -> Run:
    """Run a script in a process of its own."""
    command = [sys.executable, "-m", f"benchmarks.training.{script}"]
    variables = {**os.environ, **environment}
    out = subprocess.run(command, env=variables, check=True, stdout=subprocess.PIPE, text=True)
    rows = [line.split() for line in out.stdout.splitlines()]
    times = [float(row[1]) for row in rows]
    steps = [b - a for a, b in pairwise(times)]
    return Run([float.fromhex(row[0]) for row in rows], median(steps[len(steps) // 2 :]))


def main() -> None:
    """Run the scripts and print a table."""
    print(f"{'':22}{'':20}{'first loss':>14}{'last loss':>14}{'furthest':>12}{'a step':>12}")
    for script in sys.argv[1:] or SCRIPTS:
        reference: Run | None = None
        for way, environment in WAYS.items():
            made = run(script, environment)
            reference = reference or made
            pairs = zip(made.losses, reference.losses, strict=True)
            furthest = max(abs(a - b) / abs(b) for a, b in pairs)
            losses = f"{made.losses[0]:14.6g}{made.losses[-1]:14.6g}"
            print(f"{script:22}{way:20}{losses}{furthest:12.1e}{1e3 * made.step:9.2f} ms")


if __name__ == "__main__":
    main()
