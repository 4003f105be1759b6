"""Loops that update arrays in place give what they give with a copy at each iteration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hlo
import interpreter
from interpreter.in_place import in_place_functions
from interpreter.table import evaluates

TEXT = """
HloModule m
more {
  s = (s32[], f32[6], f32[6]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(6)
  ROOT lt = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[6], f32[6]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[6] get-tuple-element(s), index=1
  y = f32[6] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  old = f32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}
  new = f32[1] add(old, old)
  LINES
}
ENTRY main {
  zero = s32[] constant(0)
  x = f32[6] parameter(0)
  s = (s32[], f32[6], f32[6]) tuple(zero, x, x)
  ROOT w = (s32[], f32[6], f32[6]) while(s), condition=more, body=body
}
"""
# What the body does with the arrays, and how many instructions then work in place.
CASES = {
    "one array, read before": (
        """u = f32[6] dynamic-update-slice(x, new, j)
        ROOT r = (s32[], f32[6], f32[6]) tuple(j, u, y)""",
        2,
    ),
    "both arrays": (
        """u = f32[6] dynamic-update-slice(x, new, j)
        v = f32[6] dynamic-update-slice(y, new, i)
        ROOT r = (s32[], f32[6], f32[6]) tuple(j, u, v)""",
        3,
    ),
    "a slice that lives on": (
        """u = f32[6] dynamic-update-slice(x, new, i)
        three = f32[1] add(new, old)
        v = f32[6] dynamic-update-slice(y, three, i)
        ROOT r = (s32[], f32[6], f32[6]) tuple(j, u, v)""",
        3,
    ),
    "read after the update": (
        """u = f32[6] dynamic-update-slice(x, new, i)
        late = f32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}
        v = f32[6] dynamic-update-slice(y, late, j)
        ROOT r = (s32[], f32[6], f32[6]) tuple(j, u, v)""",
        1,
    ),
    "the old array is kept": (
        """u = f32[6] dynamic-update-slice(x, new, j)
        ROOT r = (s32[], f32[6], f32[6]) tuple(j, u, x)""",
        0,
    ),
    "the new array twice": (
        """u = f32[6] dynamic-update-slice(x, new, j)
        ROOT r = (s32[], f32[6], f32[6]) tuple(j, u, u)""",
        0,
    ),
    "arrays change places": (
        """u = f32[6] dynamic-update-slice(x, new, j)
        ROOT r = (s32[], f32[6], f32[6]) tuple(j, y, u)""",
        0,
    ),
    "the new array is read": (
        """u = f32[6] dynamic-update-slice(x, new, j)
        v = f32[6] negate(u)
        ROOT r = (s32[], f32[6], f32[6]) tuple(j, u, v)""",
        0,
    ),
    "the old array is viewed": (
        """u = f32[6] dynamic-update-slice(x, new, j)
        v = f32[6] reverse(x), dimensions={0}
        ROOT r = (s32[], f32[6], f32[6]) tuple(j, u, v)""",
        0,
    ),
    "the state escapes": (
        """t = f32[6] get-tuple-element(s), index=1
        b = (s32[], f32[6], f32[6]) opt-barrier(s)
        u = f32[6] dynamic-update-slice(t, new, j)
        v = f32[6] get-tuple-element(b), index=1
        ROOT r = (s32[], f32[6], f32[6]) tuple(j, u, v)""",
        0,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_nothing_but_time_changes(name: str) -> None:
    lines, in_place = CASES[name]
    module = hlo.parse(TEXT.replace("LINES", lines))
    hlo.verify(module)
    body = next(c for c in module.computations if c.name == "body")
    assert len(in_place_functions(body)) == in_place
    argument = np.arange(1, 7, dtype=np.float32)
    got = interpreter.evaluate(module, argument)
    # What is observed is never written to.
    seen: list[Any] = []
    want = interpreter.evaluate(module, argument, observe=seen.append)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g, w)
    np.testing.assert_array_equal(argument, np.arange(1, 7))


def test_a_replaced_function_is_asked_at_every_iteration() -> None:
    module = hlo.parse(TEXT.replace("LINES", CASES["one array, read before"][0]))
    iterations: list[int] = []

    def update(_instr: Any, _attrs: Any, operand: Any, _update: Any, start: Any) -> Any:
        iterations.append(int(start))
        return operand

    with evaluates.replaced("dynamic-update-slice", update):
        interpreter.evaluate(module, np.zeros(6, np.float32))
    assert iterations == [1, 2, 3, 4, 5, 6]
