"""Loops whose state changes places with that of the next iteration, and programs of many loops."""

from random import Random

import numpy as np
import pytest
from emitted import emitted
from strategies.loops import busy_module

import emit_c
import hlo
import interpreter
from hlo_tools.generate.values import nasty
from interpreter.numbers.compare import compare
from optimizer.memory import swapping

ITERATIONS = """HloModule m
body {{
  s = (s32[], f32[40,50], f32[40,50]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[40,50] get-tuple-element(s), index=1
  y = f32[40,50] get-tuple-element(s), index=2
  one = s32[] constant(1)
  r = f32[40,50] reverse(x), dimensions={{0,1}}
  a = f32[40,50] add(r, x)
  b = f32[40,50] reverse(y), dimensions={{1}}
  c = f32[40,50] multiply(b, y)
  j = s32[] add(i, one)
  ROOT t = (s32[], f32[40,50], f32[40,50]) tuple(j, a, c)
}}
condition {{
  s = (s32[], f32[40,50], f32[40,50]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant({iterations})
  ROOT c = pred[] compare(i, n), direction=LT
}}
ENTRY main {{
  x = f32[40,50] parameter(0)
  y = f32[40,50] parameter(1)
  zero = s32[] constant(0)
  t = (s32[], f32[40,50], f32[40,50]) tuple(zero, x, y)
  ROOT w = (s32[], f32[40,50], f32[40,50]) while(t), condition=condition, body=body
}}"""


@pytest.mark.parametrize("iterations", [0, 1, 2, 5])
def test_state_changes_places_instead_of_being_copied(iterations):
    module = hlo.parse(ITERATIONS.format(iterations=iterations))
    given = [np.random.default_rng(k).random((40, 50)).astype(np.float32) for k in range(2)]
    executable = emit_c.compile(module)
    want = interpreter.evaluate(module, *given)
    assert compare(executable(*given), want) is None
    if iterations > 2:  # shorter loops are unrolled
        made = emitted(module)
        bodies = [name for name in made.program.parts.calls.functions if "body" in name]
        assert len(bodies) == 2
        assert not made.bytes_copied(bodies[0])


def test_programs_full_of_loops_give_what_the_interpreter_gives(monkeypatch):
    monkeypatch.setattr(swapping, "SWAPPED_BYTES", 1)
    swapped = 0
    for seed in range(8):
        random = Random(f"swapping/{seed}")
        module = busy_module(random)
        given = [nasty(p.shape, random) for p in module.entry.parameters]
        want = interpreter.evaluate(module, *given)
        for optimize in (False, True):
            executable = emit_c.compile(module, optimize=optimize)
            assert compare(executable(*given), want) is None
            functions = emitted(module, optimize=optimize).program.parts.calls.functions
            swapped += any("_swapped_computation" in name for name in functions)
    assert swapped
