"""Trip counts: what the analysis says is how often the interpreter runs the body."""

from random import Random

import numpy as np
import pytest
from hypothesis import settings

import hlo
import interpreter
from optimizer.loops.state import loop_of
from optimizer.loops.trip_count import counter_of, trip_count

LOOP = """HloModule m
body {{
  s = ({type}[], s32[]) parameter(0)
  i = {type}[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  step = {type}[] constant({step})
  next = {type}[] {update}
  one = s32[] constant(1)
  m = s32[] add(n, one)
  ROOT t = ({type}[], s32[]) tuple(next, m)
}}
cond {{
  s = ({type}[], s32[]) parameter(0)
  i = {type}[] get-tuple-element(s), index=0
  limit = {type}[] constant({limit})
  ROOT go = pred[] compare({compare}), direction={direction}
}}
ENTRY main {{
  init = {type}[] constant({init})
  zero = s32[] constant(0)
  start = ({type}[], s32[]) tuple(init, zero)
  ROOT w = ({type}[], s32[]) while(start), condition=cond, body=body
}}
"""


def loop(**given):
    return hlo.parse(LOOP.format(**{"compare": "i, limit", "update": "add(i, step)", **given}))


def iterations_by_hand(start, step, holds, dtype):
    """How often the loop runs, counted; None if it does not end soon."""
    with np.errstate(over="ignore"):
        value, step = dtype.type(start), dtype.type(step)
        for iteration in range(300):
            if not holds(value):
                return iteration
            value = value + step
    return None


HOLDS = {
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "EQ": np.equal,
    "NE": np.not_equal,
}


@pytest.mark.parametrize("direction", HOLDS)
@pytest.mark.parametrize("type_", ["s8", "u8"])
def test_counters_wrap_around_as_integers_do(type_, direction):
    """The closed form agrees with counting, or says nothing; in small types every case is met."""
    dtype = np.dtype({"s8": "i1", "u8": "u1"}[type_])
    known = 0
    for seed in range(3 * settings.default.max_examples):
        random = Random(f"{type_}/{direction}/{seed}")
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        init, limit = random.randint(low, high), random.randint(low, high)
        step = random.choice([1, 2, 3, 7, 100, max(-1, low), max(-3, low), 0])
        made = loop(type=type_, init=init, limit=limit, step=step, direction=direction)
        found = counter_of(loop_of(made.entry.root))
        holds = HOLDS[direction]
        limit = dtype.type(limit)
        counted = iterations_by_hand(init, step, lambda v, h=holds, n=limit: h(v, n), dtype)
        if found.trips is not None:
            assert found.trips == counted, (init, limit, step)
            known += 1
    assert known


@pytest.mark.parametrize(
    ("given", "trips"),
    [
        ({"type": "s32", "init": 0, "step": 2, "limit": 9, "direction": "LT"}, 5),
        (
            {
                "type": "s32",
                "init": 9,
                "step": 3,
                "limit": 0,
                "update": "subtract(i, step)",
                "compare": "limit, i",
                "direction": "LT",
            },
            3,
        ),
        # These are followed by the interpreter.
        (
            {
                "type": "u32",
                "init": 1,
                "step": 2,
                "limit": 1000,
                "update": "multiply(i, step)",
                "direction": "LT",
            },
            10,
        ),
        ({"type": "f32", "init": 0, "step": 0.25, "limit": 1, "direction": "LT"}, 4),
        ({"type": "s8", "init": 100, "step": 20, "limit": 0, "direction": "GT"}, 2),
        # These are followed, but not so far.
        ({"type": "f32", "init": 0, "step": 0.25, "limit": 100, "direction": "LT"}, None),
        ({"type": "s32", "init": 0, "step": 0, "limit": 1, "direction": "LT"}, None),
    ],
)
def test_trip_count(given, trips):
    made = loop(**given)
    assert trip_count(loop_of(made.entry.root)) == trips
    if trips is not None:
        assert interpreter.evaluate(made)[1] == trips
