"""Loops along rows change places with blocks of rows; C gives what the interpreter gives."""

import numpy as np
import pytest
from strategies.compiled import check

import hlo
from hlo.types.element_type import ELEMENT_TYPES

FOLDS = """HloModule m
most {{ x = {0}[] parameter(0)  y = {0}[] parameter(1)  ROOT r = {0}[] maximum(x, y) }}
sum {{ x = {0}[] parameter(0)  y = {0}[] parameter(1)  ROOT r = {0}[] add(x, y) }}
fold {{
  x = {0}[{1},{2}] parameter(0)
  mask = pred[{1},{2}] parameter(1)
  at = s32[{1},1] parameter(2)
  zero = {0}[] constant(0)
  zeros = {0}[{1},{2}] broadcast(zero), dimensions={{}}
  near = {0}[{1},1,{2}] gather(x, at), offset_dims={{1,2}}, collapsed_slice_dims={{}},
    start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,{2}}}
  row = {0}[{1},{2}] reshape(near)
  m = {0}[{1}] reduce(row, zero), dimensions={{1}}, to_apply=most
  wide = {0}[{1},{2}] broadcast(m), dimensions={{0}}
  less = {0}[{1},{2}] subtract(wide, x)
  some = {0}[{1},{2}] select(mask, less, zeros)
  s = {0}[{1}] reduce(some, zero), dimensions={{1}}, to_apply=sum
  all = {0}[{1},{2}] broadcast(s), dimensions={{0}}
  more = pred[{1},{2}] compare(all, row), direction=GT
  both = pred[{1},{2}] and(more, mask)
  chosen = {0}[{1},{2}] select(both, all, less)
  ROOT t = ({0}[{1},{2}], pred[{1},{2}], {0}[{1},{2}], {0}[{1}]) tuple(chosen, both, row, s)
}}
ENTRY e {{
  x = {0}[{1},{2}] parameter(0)
  mask = pred[{1},{2}] parameter(1)
  at = s32[{1},1] parameter(2)
  ROOT f = ({0}[{1},{2}], pred[{1},{2}], {0}[{1},{2}], {0}[{1}]) fusion(x, mask, at),
    kind=kInput, calls=fold
}}"""


@pytest.mark.parametrize("size", [5, 9, 13])
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "s32", "u8", "s64"])
def test_folds_that_wait_for_folds(kind, size):
    rows = 16 * 4 + size
    module = hlo.parse(FOLDS.format(kind, rows, size))
    generator = np.random.default_rng(size)
    x = generator.integers(0, 9, (rows, size)).astype(ELEMENT_TYPES[kind].dtype)
    mask = generator.random((rows, size)) < 0.5
    at = generator.integers(-3, rows + 3, (rows, 1)).astype(np.int32)
    executable = check(module, arguments=(x, mask, at))
    assert "_block += 16" in executable.source
    assert f"for (s64 j = 0; j < {size}; j++) {{\n      #pragma omp simd" in executable.source
