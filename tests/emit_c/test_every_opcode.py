"""Every opcode, as its generator draws it: C gives what the interpreter gives."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.ops import OPS, modules_of

import emit_c
import interpreter
from hlo.errors.error import HloError
from hlo.verify import verify
from hlo_tools.generate.values import nasty, tame
from interpreter.numbers.compare import ROUNDING, compare

# These talk to the host.
HOST = {"infeed", "outfeed", "recv", "recv-done", "send", "send-done"}
EXAMPLES = max(1, settings.default.max_examples // 60)


@pytest.mark.parametrize("opcode", sorted(OPS.keys() - HOST))
@pytest.mark.parametrize("optimize", [False, True])
@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_an_opcode_gives_what_the_interpreter_gives(opcode, optimize, data):
    module = data.draw(modules_of(opcode))
    values = data.draw(st.sampled_from([nasty, tame]))
    seed = data.draw(st.integers(0, 2**30))
    arguments = [values(p.shape, random.Random(seed)) for p in module.entry.parameters]
    try:
        verify(module)
        expected = interpreter.evaluate(module, *arguments)
    except HloError:
        return  # a start without its end; arguments that the opcode has no meaning for
    executable = emit_c.compile(module, optimize=optimize)
    difference = compare(executable(*arguments), expected, ROUNDING)
    assert difference is None, f"{difference}\n{module}\n{executable.source}"
