"""Every opcode: the kernels give what the interpreter gives."""

import random

import pytest
from cuda_batches import Batch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.ops import OPS, modules_of

from hlo.errors.error import HloError
from hlo.verify import verify
from hlo_tools.generate.modules import CALLING, OPCODES_MADE, RARE, random_module
from hlo_tools.generate.values import nasty, tame

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
