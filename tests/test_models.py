"""Whole models dumped from JAX: text there and back, and the values that XLA CPU computes."""

from pathlib import Path

import numpy as np
import pytest

import hlo
from hlo.verify import verify
from hlo_tools.options.inputs import deal
from hlo_tools.values.arrays import load
from interpreter import evaluate
from interpreter.numbers.compare import ROUNDING, compare

MODELS = sorted((Path(__file__).parent / "models").glob("*.hlo"))


@pytest.fixture(params=MODELS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_text_survives(path: Path) -> None:
    module = hlo.parse(path.read_text())
    verify(module)
    printed = str(module)
    assert str(hlo.parse(printed)) == printed


def test_values_are_those_of_xla(path: Path) -> None:
    module = hlo.parse(path.read_text())
    arrays = str(path.with_suffix(".npz"))
    devices = module.header.num_partitions
    inputs = deal(load(arrays, "in"), [p.shape for p in module.entry.parameters], devices)
    wanted = deal(load(arrays, "out"), [module.entry.root.shape], devices)
    for got, (want,) in zip(evaluate(module, per_device=inputs), wanted, strict=True):
        assert compare(got, want, ROUNDING) is None


def test_every_model_is_there() -> None:
    assert len(MODELS) == 13
    assert all(np.load(path.with_suffix(".npz")).files for path in MODELS)
