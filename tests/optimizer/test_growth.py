"""The optimizer's work grows in line with the program; it is counted in calls, not in seconds."""

import sys
from math import log
from random import Random

import numpy as np
import pytest

import hlo
import interpreter
from optimizer import optimize, parse_pipeline


def updates(count, rows=None):
    """Each version of an array gets a row; of each, a row is read that others do not touch."""
    rows = rows or list(range(count))
    lines = [f"x0 = f32[{count},4] parameter(0)", "u = f32[1,4] parameter(1)"]
    for k, row in enumerate(rows):
        lines += [
            f"row{k} = s32[] constant({row})",
            f"zero{k} = s32[] constant(0)",
            f"cut{k} = f32[1,4] slice(x{k}), slice={{[{k}:{k + 1}], [0:4]}}",
            f"sum{k} = f32[1,4] add(cut{k}, u)",
            f"x{k + 1} = f32[{count},4] dynamic-update-slice(x{k}, sum{k}, row{k}, zero{k})",
        ]
    return [*lines, f"ROOT r = f32[{count},4] negate(x{count})"]


def chain(count):
    """Values that later kernels read as well: kernels grow by one at a time."""
    lines = ["v0 = f32[64,64] parameter(0)"]
    for k in range(1, count):
        of = f"tanh(v{k - 1})" if k % 11 == 5 else f"add(v{k - 1}, v{max(k - 1 - k * 7 % 23, 0)})"
        lines.append(f"v{k} = f32[64,64] {of}")
    return [*lines, f"ROOT r = f32[64,64] negate(v{count - 1})"]


def slices(count):
    """Kernels whose results one concatenate reads: it has more operands than any kernel may."""
    lines = [f"x = f32[{count},32] parameter(0)"]
    for k in range(count):
        lines += [
            f"cut{k} = f32[1,32] slice(x), slice={{[{k}:{k + 1}], [0:32]}}",
            f"t{k} = f32[1,32] tanh(cut{k})",
        ]
    parts = ", ".join(f"t{k}" for k in range(count))
    return [*lines, f"ROOT r = f32[{count},32] concatenate({parts}), dimensions={{0}}"]


def module(lines):
    return hlo.parse("HloModule m\nENTRY e {\n  " + "\n  ".join(lines) + "\n}")


def calls(before):
    """The number of functions that are called."""
    count = 0

    def profile(_frame, event, _argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        optimize(before)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [(updates, (40, 160)), (chain, (300, 1200)), (slices, (100, 400))],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_work_grows_with_the_program(shape, sizes):
    few, many = sizes
    optimize(module(shape(few)))  # fills caches
    fewer, more = [calls(module(shape(n))) for n in sizes]
    assert log(more / fewer) / log(many / few) < 1.15


def test_a_slice_moves_past_updates_that_it_lies_beside():
    after = parse_pipeline("algebraic-simplifier").run(module(updates(60)))
    cuts = [i for i in after.entry.instructions if i.opcode == "slice"]
    assert len(cuts) == 60
    assert {i.operands[0].name for i in cuts} == {"x0"}


@pytest.mark.parametrize("seed", range(4))
def test_a_slice_stops_at_the_last_update_that_touches_it(seed):
    random = Random(seed)
    before = module(updates(30, [random.randrange(30) for _ in range(30)]))
    after = parse_pipeline("algebraic-simplifier").run(before)
    given = np.arange(120, dtype=np.float32).reshape(30, 4), np.ones((1, 4), np.float32)
    np.testing.assert_array_equal(
        interpreter.evaluate(after, *given), interpreter.evaluate(before, *given)
    )
