"""An encoder of BERT's size beside the runtimes that pip installs, in bf16 and in f32.

    python -m venv .venv-peers
    .venv-peers/bin/pip install -e '.[peers]'
    .venv-peers/bin/python -m benchmarks.peers [--only WORDS] [--length 128] [--threads 2]

One model in PyTorch goes to all of them; all run in turn in one process. OpenVINO and ONNX Runtime
lay weights out when they compile the model; PyTorch and PyHLO are given them with each call.
ONNX Runtime has no bf16 for processors. Errors are the greatest difference from PyTorch in f32.
"""

from __future__ import annotations

import argparse
import copy
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measure import both_clocks, rounds_for, spell_seconds, table
from benchmarks.processor import about_processor

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH, HEADS, LAYERS = 768, 12, 12


def encoder() -> Any:
    """BERT-base's layers, with random weights."""
    torch: Any = import_module("torch")
    nn, functional = torch.nn, torch.nn.functional

    class Layer(nn.Module):
        def __init__(self) -> None:
            nn.Module.__init__(self)
            self.into, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
            self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            shape = batch, length, HEADS, WIDTH // HEADS
            q, k, v = (t.reshape(shape).transpose(1, 2) for t in self.into(x).chunk(3, -1))
            attended = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2)
            x = self.first(x + self.out(attended.reshape(x.shape)))
            return self.second(x + self.down(functional.gelu(self.up(x))))

    torch.manual_seed(0)
    return nn.Sequential(*[Layer() for _ in range(LAYERS)]).eval()


def contenders(model: Any, x: Any, threads: int) -> dict[str, Callable[[], Callable[[], Any]]]:
    """What makes each of them ready, by name."""
    torch: Any = import_module("torch")
    half, half_x = copy.deepcopy(model).to(torch.bfloat16), x.to(torch.bfloat16)

    def of_torch(own: Any, given: Any, backend: str) -> Callable[[], Any]:
        compiled = torch.compile(copy.deepcopy(own), backend=backend) if backend else own
        return lambda: compiled(given)

    def of_openvino(precision: str) -> Callable[[], Any]:
        openvino: Any = import_module("openvino")
        options = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": threads}
        converted = openvino.convert_model(copy.deepcopy(model), example_input=x)
        request = openvino.Core().compile_model(converted, "CPU", options).create_infer_request()
        given = {0: x.numpy()}
        return lambda: request.infer(given)[0]

    def of_onnxruntime() -> Callable[[], Any]:
        onnxruntime: Any = import_module("onnxruntime")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "model.onnx"))
            torch.onnx.export(copy.deepcopy(model), (x,), path, dynamo=True, verbose=False)
            session = onnxruntime.InferenceSession(path, options)
        given = {session.get_inputs()[0].name: x.numpy()}
        return lambda: session.run(None, given)[0]

    return {
        "PyHLO bf16": lambda: of_torch(half, half_x, "pyhlo"),
        "OpenVINO bf16": lambda: of_openvino("bf16"),
        "PyTorch bf16": lambda: of_torch(half, half_x, ""),
        "PyHLO f32": lambda: of_torch(model, x, "pyhlo"),
        "OpenVINO f32": lambda: of_openvino("f32"),
        "ONNX Runtime f32": of_onnxruntime,
        "PyTorch f32": lambda: of_torch(model, x, ""),
    }


def main() -> None:
    """Print a row for each contender."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--only", default="", metavar="WORDS", help="contenders whose name has them"
    )
    parser.add_argument("--length", type=int, default=128, help="of the sentence")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20.0, help="to spend on all")
    given = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.threads])
    torch: Any = import_module("torch")
    torch.set_num_threads(given.threads)
    model, x = encoder(), torch.randn(1, given.length, WIDTH)
    ready: dict[str, Callable[[], Any]] = {}
    errors: dict[str, float] = {}
    with torch.inference_mode():
        wanted = model(x).numpy()
        for name, prepare in contenders(model, x, given.threads).items():
            if given.only not in name:
                continue
            try:
                run = prepare()
                found = run()
            except Exception as error:  # one that is not installed, or cannot take the model
                print(
                    f"{name}: {type(error).__name__}: {error}".partition("\n")[0], file=sys.stderr
                )
                continue
            array = found.float().numpy() if isinstance(found, torch.Tensor) else found
            ready[name], errors[name] = run, float(np.abs(array - wanted).max())
        turns = rounds_for(lambda: [run() for run in ready.values()], given.seconds)
        times = both_clocks(ready, turns)
    rows = [
        [name, spell_seconds(took.wall), spell_seconds(took.cpu), f"{errors[name]:.1e}"]
        for name, took in times.items()
    ]
    print(f"{given.length} words, {given.threads} threads\n{about_processor()}\n")
    print(table(("", "a call", "CPU", "error"), rows))


if __name__ == "__main__":
    main()
