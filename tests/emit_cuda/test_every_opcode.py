"""Every opcode: the kernels give what the interpreter gives."""

import random

import numpy as np
import pytest
from cuda_batches import Batch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.ops import OPS, modules_of

import hlo
import interpreter
from hlo.errors.error import HloError
from hlo.verify import verify
from hlo_tools.generate.modules import CALLING, OPCODES_MADE, RARE, random_module
from hlo_tools.generate.values import nasty, tame
from interpreter.numbers.compare import Promise

# These talk to the host.
HOST = {"infeed", "outfeed", "recv", "recv-done", "send", "send-done"}
MADE = sorted({*OPCODES_MADE, *RARE, *CALLING})


@pytest.mark.parametrize("checked", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_opcodes_give_what_the_interpreter_gives(checked):
    """Modules share a file: each is of one opcode more than of others."""
    batch = Batch()
    for number, opcode in enumerate(MADE):
        values = (nasty, tame)[number % 2]
        module = random_module(random.Random(number), size=3, favoured=[opcode])
        batch.add(module, [values(p.shape, random.Random(number)) for p in module.entry.parameters])
    found = batch.differences(checked=checked)
    assert not found, f"{len(found)} differ, among them {found[0]}"


@pytest.mark.parametrize("optimize", [False, True])
def test_random_modules_give_what_the_interpreter_gives(optimize):
    batch = Batch(optimize=optimize)
    for seed in range(16):
        module = random_module(random.Random(seed), size=8)
        batch.add(module, [tame(p.shape, random.Random(seed)) for p in module.entry.parameters])
    found = batch.differences()
    assert not found, f"{len(found)} differ, among them {found[0]}"


# Where numbers are drawn from; a logistic is no normal number below -87.
RANGES = {
    "exponential": (-110, 95),
    "log": (1e-40, 3e38),
    "log-plus-one": (-0.999, 100),
    "logistic": (-87, 85),
    "tanh": (-12, 12),
}


def test_functions_are_near_the_truth():
    """On a GPU these are CUDA's own."""
    generator, batch = np.random.default_rng(4), Batch()
    for opcode, (low, high) in RANGES.items():
        even = generator.uniform(low, high, 20_000)
        spread = np.exp(generator.uniform(np.log(1e-6), np.log(high), 20_000))
        ends = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0, 1e-40, 3e38, -3e38]
        x = np.concatenate([even, spread, ends]).astype(np.float32)
        text = f"x = f32[{len(x)}] parameter(0)  ROOT r = f32[{len(x)}] {opcode}(x)"
        batch.add(hlo.parse(f"HloModule near\nENTRY main {{ {text} }}"), [x])
        module, given, _, program = batch.cases[-1]
        wide = hlo.parse(str(module).replace("f32", "f64"))
        truth = interpreter.evaluate(wide, x.astype(np.float64))
        with np.errstate(over="ignore", under="ignore"):
            batch.cases[-1] = module, given, truth.astype(np.float32), program
    assert not batch.differences(Promise(ulps=4))


@pytest.mark.slow
@pytest.mark.parametrize("opcode", sorted(OPS.keys() - HOST))
@settings(max_examples=max(1, settings.default.max_examples // 20))
@given(data=st.data(), optimize=st.booleans())
def test_an_opcode_gives_what_the_interpreter_gives(opcode, data, optimize):
    module = data.draw(modules_of(opcode))
    values = data.draw(st.sampled_from([nasty, tame]))
    seed = data.draw(st.integers(0, 2**30))
    try:
        verify(module)
    except HloError:
        return  # a start without its end
    batch = Batch(optimize=optimize)
    batch.add(module, [values(p.shape, random.Random(seed)) for p in module.entry.parameters])
    found = batch.differences()
    assert not found, found[0]
