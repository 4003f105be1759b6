"""The memory of emitted C: nothing is overwritten while it is needed, scratch memory included."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import settings
from strategies.loops import busy_module

import hlo
from emit_c.buffers import ready
from emit_c.emit import ModuleWriter
from emit_c.expand import expand
from hlo_tools.generate.modules import random_module
from optimizer import optimize
from optimizer.memory.buffer_assignment import assign
from optimizer.memory.check import check

MODELS = sorted((Path(__file__).parents[1] / "models").glob("*.hlo"))


def assigned(module):
    """The buffer assignment of a module's C."""
    expanded = ready(expand(module))
    writer = ModuleWriter(expanded)
    writer.function(expanded.entry, "run")
    writer.memory.settle()
    return writer.memory.assignment


def test_random_programs():
    scratch = 0
    for seed in range(settings.default.max_examples):
        for made in (random_module(Random(seed)), busy_module(Random(seed))):
            found = assigned(made)
            check(found)
            scratch += len(found.scratch)
    assert scratch


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_models(path):
    module = hlo.parse(path.read_text())
    if module.header.num_partitions > 1:
        pytest.skip("it needs several devices")
    optimized = optimize(module, observers=())
    check(assign(optimized))
    check(assigned(optimized))
    check(assigned(module))
