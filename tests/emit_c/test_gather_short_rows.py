"""Short rows are gathered into lanes; C gives what the interpreter gives."""

import numpy as np
import pytest
from emitted import checked
from strategies.compiled import check, entry

import hlo
from hlo.types.element_type import ELEMENT_TYPES

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
    check(parsed, optimize=True, arguments=arguments)


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
    assert "gather-short-rows" in checked(module, optimize=True, arguments=(x,)).passes
