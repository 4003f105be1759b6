"""Writes the graphs that torch makes of some models, with what torch computes of them.

    python tests/hlo_torch/record.py

They are recorded once more where a new version of torch makes other graphs.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func

from hlo_torch.simpler import decompositions

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent)]

from recorded_graphs import arguments  # noqa: E402 - of this folder's
from torch_models import MODELS  # noqa: E402

NAMES = ("resnet", "causal attention", "lstm cells")


def main() -> None:
    """Write a text a graph, and one file of results."""
    torch._dynamo.config.allow_rnn = True
    graphs: dict[str, Any] = {}

    def recorder(name: str) -> Any:
        def record(graph: Any, _inputs: Any) -> Any:
            text = graph.print_readable(print_output=False, include_stride=False)
            lines = [line for line in text.splitlines() if line.strip()[:1] not in ("#", "")]
            path = HERE / "graphs" / f"{name}.txt"
            path.write_text("\n".join(lines) + "\n")
            graphs[name] = graph
            return make_boxed_func(graph)

        return record

    for name in NAMES:
        torch._dynamo.reset()
        torch.manual_seed(0)
        make, inputs = MODELS[name]
        word = name.replace(" ", "-")
        backend = aot_autograd(
            fw_compiler=recorder(f"{word}-forward"), bw_compiler=recorder(f"{word}-backward"),
            decompositions=decompositions(),
        )  # fmt: skip
        torch.compile(make(), backend=backend)(*[i() for i in inputs]).sum().backward()
    results: dict[str, Any] = {}
    for name, graph in graphs.items():
        given = [*map(torch.from_numpy, arguments((HERE / "graphs" / f"{name}.txt").read_text()))]
        made = (value for value in graph(*given) if value is not None)
        for k, value in enumerate(made):
            if not any(value is one for one in given):
                results[f"{name}:{k}"] = value.detach().numpy()
    np.savez_compressed(HERE / "graphs" / "results.npz", **results)


if __name__ == "__main__":
    main()
