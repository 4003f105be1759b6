"""Times of the front ends beside the frameworks' own compilers.

    python -m benchmarks.frontends tf
    python -m benchmarks.frontends torch --beside eager inductor --names mlp gpt --width 128

The programs are those of the tests, which compare values. All contenders run in turn in one
process; each has the least of its rounds, in CPU time of all threads and in wall time. `tf` needs
`.venv-tf/bin/python`, and `torch` needs `.venv-torch/bin/python`: `make frontends`.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Contenders = dict[str, Callable[[], Any]]


def main(words: list[str] | None = None) -> None:
    """Print a row for each program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("framework", choices=("tf", "torch"))
    parser.add_argument("--names", nargs="+", default=[], help="programs; else all")
    parser.add_argument(
        "--beside", nargs="+", default=["eager", "inductor"], help="backends of torch.compile"
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--width", type=int, default=64, help="of torch's layers")
    parser.add_argument("--batch", type=int, default=16, help="of torch's examples")
    parser.add_argument("--length", type=int, default=32, help="words, or pixels of a side")
    given = parser.parse_args(words)
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    size = given.width, given.batch, given.length
    rows = of_tensorflow() if given.framework == "tf" else of_torch(given.beside, size)
    for name, make in rows:
        if not given.names or name in given.names:
            print(row(name, make(), given.rounds), flush=True)


def row(name: str, contenders: Contenders, rounds: int) -> str:
    """The least times of each contender, in milliseconds of CPU and of the wall."""
    for run in contenders.values():
        run()
        run()
    best = {key: [float("inf")] * 2 for key in contenders}
    for _ in range(rounds):
        for key, run in contenders.items():
            cpu, wall = time.process_time(), time.perf_counter()
            run()
            taken = time.process_time() - cpu, time.perf_counter() - wall
            best[key] = [min(pair) for pair in zip(best[key], taken, strict=True)]
    cells = " ".join(f"{key} {1e3 * c:8.3f} {1e3 * w:8.3f}" for key, (c, w) in best.items())
    own = best["pyhlo"][0]
    others = min(cpu for key, (cpu, _) in best.items() if key != "pyhlo")
    return f"{name:32} {cells}  ratio {others / own:.2f}"


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
