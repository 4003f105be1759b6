"""Random modules, with calls, branches and loops inside: C gives what the interpreter gives."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import emit_c
import interpreter
from hlo.errors.error import HloError
from hlo.types.element_type import PRED, S4, S8, S32, U8, U32, U64
from hlo_tools.generate.modules import random_module
from hlo_tools.generate.random_shapes import TYPES
from hlo_tools.generate.values import nasty, tame
from hlo_tools.search.checking.judging import difference
from interpreter.numbers.compare import BITS, ROUNDING, Promise

# Without the optimizer, only sums in another order and polynomials round otherwise.
UNOPTIMIZED = Promise(ulps=16, of_largest=True)
EXAMPLES = settings.default.max_examples


def check(seed, types, values, promise, *, optimize):
    module = random_module(random.Random(seed), size=8, types=types)
    arguments = [values(p.shape, random.Random(seed)) for p in module.entry.parameters]
    try:
        executable = emit_c.compile(module, optimize=optimize)
    except HloError as error:
        if error.code != "HLO101":
            raise
        return  # an opcode that means nothing for its type, in a branch that nobody takes
    got, expected = executable(*arguments), interpreter.evaluate(module, *arguments)
    found = difference(module, None, arguments, promise, expected, got)
    assert found is None, f"{found}\n{module}\n{executable.source}"


@pytest.mark.parametrize(("optimize", "promise"), [(False, UNOPTIMIZED), (True, ROUNDING)])
@settings(max_examples=EXAMPLES // 4)
# A sort of NaNs whose sign is meaningless.
@example(seed=41694384, values=tame)
# An infinity times an angle, whose imaginary part is a rounding error of 0. XLA has 0 there.
@example(seed=100000, values=nasty)
@given(seed=st.integers(0, 2**30), values=st.sampled_from([nasty, tame]))
def test_a_random_module_gives_what_the_interpreter_gives(optimize, promise, seed, values):
    check(seed, TYPES, values, promise, optimize=optimize)


@pytest.mark.parametrize("optimize", [False, True])
@settings(max_examples=EXAMPLES // 4)
@given(seed=st.integers(0, 2**30))
def test_a_module_of_whole_numbers_gives_the_very_same(optimize, seed):
    check(seed, (PRED, S4, S8, S32, U8, U32, U64), nasty, BITS, optimize=optimize)
