"""Calls of calls: what few lines of text unfold to may be too much for any machine."""

import numpy as np
import pytest

import emit_c
import hlo
from interpreter import evaluate
from optimizer import optimize
from optimizer.calls.call_inliner import CallInliner
from optimizer.calls.flatten_call_graph import FlattenCallGraph
from optimizer.log import Log

EQUAL_CALLS = "b = f32[4] call(p), to_apply={0}\n  ROOT s = f32[4] add(a, b)"
CALLS_IN_TURN = "ROOT b = f32[4] call(a), to_apply={0}"


def doubling(depth, last):
    """Computations each of which calls the one before twice."""
    lines = ["HloModule m", "g0 { p = f32[4] parameter(0)  ROOT n = f32[4] negate(p) }"]
    for k in range(depth):
        first = f"p = f32[4] parameter(0)\n  a = f32[4] call(p), to_apply=g{k}"
        lines.append(f"g{k + 1} {{ {first}\n  {last.format(f'g{k}')} }}")
    body = f"p = f32[4] parameter(0)  ROOT r = f32[4] call(p), to_apply=g{depth}"
    return hlo.parse("\n".join([*lines, f"ENTRY e {{ {body} }}"]))


@pytest.mark.parametrize("last", [EQUAL_CALLS, CALLS_IN_TURN])
@pytest.mark.parametrize("make", [FlattenCallGraph, CallInliner])
def test_nothing_explodes(make, last):
    small, large = doubling(6, last), doubling(60, last)
    unfolded = make().run(small, Log())
    assert sum(len(c.instructions) for c in unfolded.computations) > 64
    after = make().run(large, Log())
    assert sum(len(c.instructions) for c in after.computations) < 300


def test_equal_calls_become_one():
    made = optimize(doubling(60, EQUAL_CALLS), "cpu")
    assert sum(i.opcode == "call" for i in made.instructions()) <= 61
    x = np.array([1, -2, 0, 3], np.float32)
    np.testing.assert_array_equal(evaluate(made, x), x * np.float32(-(2.0**60)))


@pytest.mark.parametrize("optimized", [False, True])
def test_too_many_places_are_told(optimized):
    module = doubling(60, CALLS_IN_TURN)
    with pytest.raises(hlo.HloError, match="would become too large") as caught:
        emit_c.compile(module, optimize=optimized, remember=False)
    assert caught.value.code == "HLO170"
