"""Graphs that torch made of models, recorded by `record.py`: HLO computes what torch computed."""

from pathlib import Path

import numpy as np
import pytest
from recorded_graphs import arguments

import emit_c
import hlo
from hlo_torch.graph import read
from hlo_torch.lowering import lower
from interpreter import evaluate

GRAPHS = sorted((Path(__file__).parent / "graphs").glob("*.txt"))


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_a_graph_of_torch(path: Path) -> None:
    text = path.read_text()
    module = lower(read(text), path.stem)
    hlo.verify(module)
    given = arguments(text)
    interpreted, compiled = evaluate(module, *given), emit_c.compile(module)(*given)
    wanted = np.load(path.parent / "results.npz")
    assert f"{path.stem}:0" in wanted
    for k in range(len(interpreted)):
        if f"{path.stem}:{k}" not in wanted:
            continue  # one of the arguments
        expected = wanted[f"{path.stem}:{k}"]
        # The gradients of a ResNet are sums of thousands of products.
        close = {"rtol": 1e-3, "atol": 1e-4 * (1e-3 + np.abs(expected).max())}
        np.testing.assert_allclose(interpreted[k], expected, **close)
        np.testing.assert_allclose(compiled[k], expected, **close)
