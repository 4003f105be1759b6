"""Times of the front ends beside the frameworks' own compilers.

    python -m benchmarks.frontends all
    python -m benchmarks.frontends tf
    python -m benchmarks.frontends torch --beside eager inductor --names mlp gpt --width 128
    python -m benchmarks.frontends clusters

The programs are those of the tests, which compare values. All contenders run in turn in one
process; each has the least of its rounds, in CPU time of all threads and in wall time. `tf` and
`clusters` need `.venv-tf/bin/python`, and `torch` needs `.venv-torch/bin/python`, which
`make frontends` makes; `all` starts each with its own.

`clusters` runs one script in TensorFlow, with TensorFlow's auto-clustering, and with PyHLO's.
"""

from __future__ import annotations

import argparse
import copy
import math
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Contenders = dict[str, Callable[[], Any]]


def main(words: list[str] | None = None) -> None:
    """Print a row for each program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("framework", choices=("all", "tf", "torch", "clusters"))
    parser.add_argument("--names", nargs="+", default=[], help="programs; else all")
    parser.add_argument(
        "--beside", nargs="+", default=["eager", "inductor"], help="backends of torch.compile"
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--width", type=int, default=64, help="of torch's layers")
    parser.add_argument("--batch", type=int, default=16, help="of torch's examples")
    parser.add_argument("--length", type=int, default=32, help="words, or pixels of a side")
    given = parser.parse_args(words)
    if given.framework == "all":
        for name, environment in (("tf", "tf"), ("clusters", "tf"), ("torch", "torch")):
            print(f"{name}, load {os.getloadavg()[0]:.1f}", flush=True)
            command = [f".venv-{environment}/bin/python", "-m", "benchmarks.frontends", name]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return
    if given.framework == "clusters":
        of_clusters()
        return
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    size = given.width, given.batch, given.length
    rows = of_tensorflow() if given.framework == "tf" else of_torch(given.beside, size)
    ratios: dict[str, list[float]] = {}
    for name, make in rows:
        if given.names and name not in given.names:
            continue
        best = least(make(), given.rounds)
        own = best["pyhlo"][0]
        cells = [f"{key} {1e3 * cpu:8.3f} {1e3 * wall:8.3f}" for key, (cpu, wall) in best.items()]
        for key, (cpu, _) in best.items():
            if key != "pyhlo":
                ratios.setdefault(key, []).append(cpu / own)
                cells.append(f"{key}/pyhlo {cpu / own:.2f}")
        print(f"{name:32} {' '.join(cells)}", flush=True)
    for key, found in ratios.items():
        known = [ratio for ratio in found if ratio == ratio]
        slower = sum(ratio < 1 for ratio in known)
        print(
            f"{key}/pyhlo: geometric mean {geometric_mean(known):.2f} over {len(known)}, "
            f"{slower} under 1; {len(found) - len(known)} that {key} cannot run"
        )


def least(contenders: Contenders, rounds: int) -> dict[str, list[float]]:
    """The least times of each contender, in seconds of CPU and of the wall; NaN if it fails."""
    best: dict[str, list[float]] = {}
    for key, run in contenders.items():
        try:
            run()
            run()
            best[key] = [math.inf] * 2
        except Exception as error:  # what a framework's own compiler raises
            if key == "pyhlo":
                raise
            print(f"{key}: {type(error).__name__}: {error}".partition("\n")[0], file=sys.stderr)
            best[key] = [math.nan] * 2
    for _ in range(rounds):
        for key, run in contenders.items():
            if math.isnan(best[key][0]):
                continue
            cpu, wall = time.process_time(), time.perf_counter()
            run()
            taken = time.process_time() - cpu, time.perf_counter() - wall
            best[key] = [min(pair) for pair in zip(best[key], taken, strict=True)]
    return best


# A script whose time is that of arithmetic between two strings; it prints its least CPU time.
CLUSTERED = """
import time
import tensorflow as tf

@tf.function
def f(x):
    for _ in range(12):
        x = x * 0.5 + x * x * 0.1 - tf.maximum(x, 0.3)
    return tf.strings.as_string(tf.reduce_sum(x)), x

x = tf.random.stateless_uniform((2_000_000,), (1, 2))
best = float("inf")
for _ in range(12):
    begin = time.process_time()
    f(x)[1].numpy()
    best = min(best, time.process_time() - begin)
print(f"{1e3 * best:.2f} ms")
"""


def of_clusters() -> None:
    """Run the script three ways, twice in turn."""
    flags = {"TF_XLA_FLAGS": "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.py")
        script.write_text(CLUSTERED)
        alone = [sys.executable, str(script)]
        ours = [sys.executable, "-m", "hlo_tools", "tf", str(script), "--auto-cluster"]
        for _ in range(2):
            for name, command, more in (
                ("TensorFlow", alone, {}),
                ("its auto-clustering", alone, flags),
                ("hlo tf --auto-cluster", ours, {}),
            ):
                done = subprocess.run(
                    command,
                    env={**os.environ, **more},
                    check=True,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                )
                print(f"{name:24} {done.stdout.strip()}", flush=True)


def of_tensorflow() -> Iterator[tuple[str, Callable[[], Contenders]]]:
    """The programs of the tests by `hlo_tf.function`, and by `tf.function(jit_compile=True)`."""
    keras, tf = import_module("keras"), import_module("tensorflow")
    own = import_module("hlo_tf").function
    compilers = {"pyhlo": own, "xla": partial(tf.function, jit_compile=True)}

    def contenders(program: Any) -> Contenders:
        keras.utils.set_random_seed(0)
        return {key: program(compiled) for key, compiled in compilers.items()}

    for name, program in import_module("tf_programs").PROGRAMS.items():
        yield name, partial(contenders, program)


def of_torch(
    beside: list[str], size: tuple[int, int, int]
) -> Iterator[tuple[str, Callable[[], Contenders]]]:
    """Training steps of the networks of the tests, forward and backward."""
    torch: Any = import_module("torch")
    dynamo: Any = import_module("torch._dynamo")
    dynamo.config.allow_rnn = True
    networks: Any = import_module("torch_networks")

    def contenders(make: Any) -> Contenders:
        dynamo.reset()
        torch.manual_seed(0)
        model, inputs = make(networks.Size(*size))
        found: dict[str, Callable[[], Any]] = {}
        for key in ("pyhlo", *beside):
            own = copy.deepcopy(model)
            compiled = own if key == "eager" else torch.compile(own, backend=key)
            found[key] = partial(step, own, compiled, inputs)
        return found

    def step(model: Any, compiled: Any, inputs: list[Any]) -> None:
        made = compiled(*inputs)
        parts: Any = [made] if hasattr(made, "shape") else made
        model.zero_grad()
        loss: Any = sum((p.float() ** 2).mean() for p in parts if p.requires_grad)
        loss.backward()

    for name, make in networks.NETWORKS.items():
        yield name, partial(contenders, make)


if __name__ == "__main__":
    main()
