"""C as one would write it by hand: no lanes, no tiles, no threads; and the same values."""

from pathlib import Path

import numpy as np
import pytest

import emit_c
import hlo
import optimizer
from interpreter import evaluate
from interpreter.numbers.compare import ROUNDING, compare

MODELS = Path(__file__).parents[1] / "models"
QUICK = ("attention", "layer_norm", "sorting")
FAST_ONLY = ("simd", "parallel", "__attribute__((vector_size", "run_parts", "tile_")


def read(name):
    return optimizer.optimize(hlo.parse((MODELS / f"{name}.hlo").read_text()))


def test_a_softmax_is_short():
    """Three loops in one over the rows."""
    source = emit_c.emit(read("softmax_layer"), plain=True).source
    kernel = source[source.index("static void reduce_divide_multiply_fusion_kernel(") :]
    lines = kernel[: kernel.index("\n}\n")].splitlines()
    assert len(lines) <= 24
    assert sum("for (" in line for line in lines) == 4


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(path.stem, marks=() if path.stem in QUICK else pytest.mark.slow)
        for path in sorted(MODELS.glob("*.hlo"))
        if path.stem != "data_parallel_step"
    ],
)
def test_models_are_right_and_plain(name):
    module = read(name)
    executable = emit_c.compile(module, optimize=False, plain=True)
    text = executable.source.split("// %", 1)[1]
    # The FFT is a library of its own.
    assert name == "spectrum" or not [word for word in FAST_ONLY if word in text]
    with np.load(MODELS / f"{name}.npz") as arrays:
        given = [arrays[key] for key in sorted(arrays.files) if key.startswith("in")]
    assert compare(executable(*given), evaluate(module, *given), ROUNDING) is None
