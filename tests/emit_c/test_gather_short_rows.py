"""Short rows are gathered into lanes; C gives what the interpreter gives."""

import re

import numpy as np
import pytest
from numbered_names import Names
from strategies.compiled import entry
from written import Assign, For, If, Let, Variable

import emit_c
import hlo
from codegen.printer import text
from emit_c.kernels.gather_short_rows import gather_short_rows
from hlo.types.element_type import ELEMENT_TYPES
from interpreter import evaluate
from interpreter.numbers.compare import BITS, compare

MOST = """HloModule m
most {{ x = {0}[] parameter(0)  y = {0}[] parameter(1)  ROOT r = {0}[] maximum(x, y) }}
ENTRY e {{
  p = {0}[{1},{2}] parameter(0)
  least = {0}[] parameter(1)
  m = {0}[{1}] reduce(p, least), dimensions={{1}}, to_apply=most
  b = {0}[{1},{2}] broadcast(m), dimensions={{0}}
  s = {0}[{1},{2}] subtract(p, b)
  ROOT t = ({0}[{1},{2}], {0}[{1}]) tuple(s, m)
}}"""
FIRST = """HloModule m
f {{
  a = {0}[] parameter(0)  i = s32[] parameter(1)
  b = {0}[] parameter(2)  j = s32[] parameter(3)
  less = pred[] compare(b, a), direction=LT
  x = {0}[] select(less, b, a)  k = s32[] select(less, j, i)
  ROOT t = ({0}[], s32[]) tuple(x, k)
}}
ENTRY e {{
  x = {0}[{1},{2}] parameter(0)
  top = {0}[] parameter(1)
  i = s32[{1},{2}] iota(), iota_dimension=1
  zero = s32[] constant(-1)
  ROOT r = ({0}[{1}], s32[{1}]) reduce(x, i, top, zero), dimensions={{1}}, to_apply=f
}}"""


@pytest.mark.parametrize("module", [MOST, FIRST], ids=["most", "first"])
@pytest.mark.parametrize("size", [5, 7, 10, 13])
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "u8", "s32", "u64"])
def test_rows_that_lie_apart(module, kind, size):
    rows = 16 * 5 + size
    parsed = hlo.parse(module.format(kind, rows, size))
    dtype = ELEMENT_TYPES[kind].dtype
    x = np.random.default_rng(size).integers(0, 9, (rows, size)).astype(dtype)
    if ELEMENT_TYPES[kind].is_floating:
        x[3, 0], x[4, -1], x[5], x[6, ::2], x[-1, -1] = np.nan, np.inf, 0, -0.0, np.nan
    arguments = x, np.asarray(4, dtype)
    for mine, meant in zip(
        emit_c.compile(parsed)(*arguments), evaluate(parsed, *arguments), strict=True
    ):
        assert compare(mine, meant, BITS) is None


def test_folds_of_mirrored_and_strided_rows_are_gathered():
    module = hlo.parse(
        entry("""x = f64[200,14] parameter(0)
        m = f64[200,14] reverse(x), dimensions={0,1}
        s = f64[200,7] slice(m), slice={[0:200],[1:14:2]}
        least = f64[] constant(-inf)
        ROOT r = f64[200] reduce(s, least), dimensions={1}, to_apply=f""").replace(
            "ENTRY", "f { a = f64[] parameter(0)  b = f64[] parameter(1)\n"
            "ROOT c = f64[] maximum(a, b) }\nENTRY", 1
        )
    )  # fmt: skip
    x = np.random.default_rng(0).standard_normal((200, 14))
    executable = emit_c.compile(module)
    np.testing.assert_array_equal(executable(x), x.reshape(200, 14)[::-1, ::-1][:, 1::2].max(1))
    assert "rows[k" in executable.source


def nest(rows=100, trip_count=5, apart=5, kind="f32", stored="y[i]", value="key(v)"):
    fold = Let(kind, "v", f"x[i * {apart} + j]"), Assign("t", f"t + {value}")
    inner = For("j", trip_count, fold, simd=True, reductions=(("+", "t"),))
    return For("i", rows, (Variable("f32", "t", "0"), inner, Assign(stored, "t")), parallel=True)


def test_blocks_of_rows_and_what_is_left():
    blocks, left = gather_short_rows(Names(), [nest()])
    assert (blocks.start, blocks.stop, blocks.step, blocks.parallel) == (0, 96, 16, True)
    assert (left.start, left.stop) == (96, 100)
    array, fill, lanes = blocks.body
    assert (array.kind, array.size, fill.stop, lanes.simd) == ("s32", 16, 16, True)
    places = re.findall(r"x\[\((\w+) \* 5 \+ (\w+)\) \+ (\d)\]", text([lanes]))
    assert len({p[:2] for p in places}) == 1
    assert [p[2] for p in places] == list("01234")


def test_rows_of_which_something_is_left_out_are_gathered():
    for apart in (8, 16):
        assert gather_short_rows(Names(), [nest(apart=apart)])[0].step == 16


def test_whole_blocks_leave_nothing():
    assert len(gather_short_rows(Names(), [nest(96)])) == 1


@pytest.mark.parametrize(
    "loop",
    [
        nest(rows=60),
        nest(trip_count=17, apart=17),
        nest(apart=4),
        nest(trip_count=8, apart=8),
        nest(kind="bf16"),
        nest(value="v"),
        nest(trip_count=9, apart=9, value="exp_f32(log_f32(v))"),
        nest(kind="pred", stored="y[i * 5]"),
    ],
    ids=[
        "few rows",
        "long",
        "taken apart",
        "whole",
        "two bytes",
        "sums",
        "long functions",
        "one byte",
    ],
)
def test_loops_that_stay(loop):
    assert gather_short_rows(Names(), [loop]) == (loop,)


def test_loops_inside_of_other_statements():
    (made,) = gather_short_rows(Names(), [If("c", (For("h", 3, (nest(96),)),))])
    assert made.then[0].body[0].step == 16
