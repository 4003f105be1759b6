"""The standard pipelines on whole models: XLA's values, for either target, strict or not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from strategies.equal import nameless

import hlo
from hlo.verify import verify
from hlo_tools.options.inputs import deal
from hlo_tools.values.arrays import load
from interpreter import evaluate
from interpreter.numbers.compare import BITS, ROUNDING, compare
from optimizer import optimize

MODELS = sorted((Path(__file__).parents[1] / "models").glob("*.hlo"))


@pytest.fixture(params=MODELS, ids=lambda path: path.stem)
def path(request):
    return request.param


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_values_are_kept(path, target):
    before = hlo.parse(path.read_text())
    devices = before.header.num_partitions
    shapes = [p.shape for p in before.entry.parameters]
    inputs = deal(load(str(path.with_suffix(".npz")), "in"), shapes, devices)
    want = evaluate(before, per_device=inputs)
    for strict, promise in ((True, BITS), (False, ROUNDING)):
        after = optimize(before, target, strict=strict)
        verify(after)
        got = evaluate(after, per_device=inputs)
        assert compare(tuple(got), tuple(want), promise) is None


def test_a_second_run_changes_names_at_most(path):
    """It takes dots apart that transpose folding then puts together again."""
    once = optimize(hlo.parse(path.read_text()))
    assert nameless(optimize(once)) == nameless(once)


def test_output_does_not_depend_on_the_order_of_sets():
    model = max(MODELS, key=lambda path: path.stat().st_size)
    texts = {
        subprocess.run(
            [sys.executable, "-m", "hlo_tools", "opt", str(model)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1
