"""Gathers at places that follow from an index alone load neighbours: the same elements."""

import numpy as np
import pytest
from emitted import checked
from strategies.compiled import whole

import hlo
from codegen.statements import Let

# Windows of four of a row: element j of window i is at start + slope * i + j.
WINDOWS = """HloModule m
ENTRY e {{
  x = u8[100] parameter(0)
  i = {kind}[{count},4] iota(), iota_dimension=0
  j = {kind}[{count},4] iota(), iota_dimension=1
  slope = {kind}[] constant({slope})
  slopes = {kind}[{count},4] broadcast(slope), dimensions={{}}
  apart = {kind}[{count},4] multiply(i, slopes)
  place = {kind}[{count},4] add(apart, j)
  start = {kind}[] constant({start})
  starts = {kind}[{count},4] broadcast(start), dimensions={{}}
  begun = {kind}[{count},4] add(starts, place)
  zero = {kind}[] constant(0)
  zeros = {kind}[{count},4] broadcast(zero), dimensions={{}}
  n = {kind}[] constant(100)
  ns = {kind}[{count},4] broadcast(n), dimensions={{}}
  back = {kind}[{count},4] add(begun, ns)
  negative = pred[{count},4] compare(begun, zeros), direction=LT
  at = {kind}[{count},4] select(negative, back, begun)
  where = {kind}[{count},4,1] reshape(at)
  ROOT g = u8[{count},4] gather(x, where), offset_dims={{}}, collapsed_slice_dims={{0}},
    start_index_map={{0}}, index_vector_dim=2, slice_sizes={{1}}
}}"""


@pytest.mark.parametrize(
    ("kind", "count", "start", "slope", "is_counted"),
    [
        ("s32", 97, 0, 1, True),
        ("s32", 25, 0, 4, True),
        ("s64", 30, 10, 2, True),
        ("s32", 97, 96, -1, True),
        ("s32", 50, -100, 1, True),  # all of them from the end
        ("s32", 50, -2, 1, False),  # some of them
        ("s32", 50, 80, 1, False),  # past the end
        ("u32", 50, 3, 1, True),
        ("s8", 97, 0, 1, True),
        ("s8", 97, 60, 1, False),  # 60 + 96 is more than there is room for
    ],
)
def test_windows(kind, count, start, slope, is_counted):
    text = WINDOWS.format(kind=kind, count=count, start=start, slope=slope)
    module = hlo.parse(text)
    made = checked(module, optimize=True, arguments=whole(0, 256))
    assert ("split-lookups" not in made.passes) == is_counted


def test_places_that_are_looked_up_are_not_counted():
    module = hlo.parse(
        """HloModule m
        ENTRY e {
          x = f32[40,9] parameter(0)
          y = s32[40] parameter(1)
          i = s32[40,1] iota(), iota_dimension=0
          k = s32[40,1] reshape(y)
          pairs = s32[40,2] concatenate(i, k), dimensions={1}
          ROOT g = f32[40] gather(x, pairs), offset_dims={}, collapsed_slice_dims={0,1},
            start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}
        }"""
    )
    numbers = np.random.default_rng(0)
    x, y = numbers.random((40, 9), np.float32), numbers.integers(-3, 12, 40).astype(np.int32)
    made = checked(module, optimize=True, arguments=(x, y))
    assert sum(isinstance(s, Let) and s.name.endswith("_at") for s in made.nested) == 1
