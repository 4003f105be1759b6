"""Indexing maps against the interpreter: an element is that of the operand that the map tells."""

import numpy as np
import pytest

import hlo
from interpreter import evaluate
from optimizer.analysis.indexing import Sum
from optimizer.analysis.indexing_map import sources

MOVED = (
    "s32[7,4,2,3] broadcast(x), dimensions={1,3}",
    "s32[2,6] reshape(x)",
    "s32[2,1,3,2] reshape(x)",
    "s32[3,4]{0,1} bitcast(x)",
    "s32[3,4] transpose(x), dimensions={1,0}",
    "s32[4,3] reverse(x), dimensions={0}",
    "s32[2,2] slice(x), slice={[1:4:2],[0:2]}",
    "s32[9,3] pad(x, z), padding=-1_3_1x1_-1",
    "s32[4,7] concatenate(x, y, x), dimensions={1}",
)


@pytest.mark.parametrize("text", MOVED)
def test_elements_are_those_of_the_interpreter(text):
    module = hlo.parse(
        "HloModule m\nENTRY e { x = s32[4,3] parameter(0)\ny = s32[4,1] parameter(1)\n"
        f"z = s32[] constant(-1)\nROOT r = {text} }}"
    )
    x, y = np.arange(12, dtype="i4").reshape(4, 3), np.arange(50, 54, dtype="i4").reshape(4, 1)
    held = {"x": x, "y": y, "z": np.array(-1)}
    result = np.asarray(evaluate(module, x, y))
    for index in np.ndindex(result.shape):
        found = sources(module.entry.root, tuple(map(Sum, index)))
        # Of constants nothing is open: what may not hold does not.
        first = next(s for s in found if not any(c.is_open for c in s.conditions))
        element = held[first.operand.name][tuple(i.constant for i in first.source_index)]
        assert element == result[index]


def test_an_opcode_that_computes_has_no_map():
    module = hlo.parse("HloModule m\nENTRY e { x = s32[4] parameter(0)\nROOT r = s32[4] abs(x) }")
    assert not sources(module.entry.root, (Sum(0),))
