"""The first and last iterations of loops in lanes are written out, where their choices differ."""

import numpy as np
import pytest
from strategies.compiled import check, whole

import hlo

FOLDS = {
    "or": ("pred", "false"),
    "xor": ("u8", "0"),
    "add": ("s16", "0"),
    "maximum": ("s8", "-128"),
    "multiply": ("u16", "1"),
}


@pytest.mark.parametrize("opcode", FOLDS)
@pytest.mark.parametrize(("rows", "columns", "by"), [(2, 67, 3), (3, 129, 1), (5, 20, 1)])
def test_folds_of_rows_beside_rolled_ones(opcode, rows, columns, by):
    kind, start = FOLDS[opcode]
    module = hlo.parse(f"""HloModule m
f {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT r = {kind}[] {opcode}(a, b) }}
fused {{
  x = {kind}[{rows},{columns}] parameter(0)
  first = {kind}[{rows},{by}] slice(x), slice={{[0:{rows}],[0:{by}]}}
  others = {kind}[{rows},{columns - by}] slice(x), slice={{[0:{rows}],[{by}:{columns}]}}
  next = {kind}[{rows},{columns}] concatenate(others, first), dimensions={{1}}
  both = {kind}[{rows},{columns}] {opcode}(x, next)
  n = {kind}[] constant({start})
  whole = {kind}[] reduce(both, n), dimensions={{0,1}}, to_apply=f
  ROOT r = ({kind}[{rows},{columns}], {kind}[]) tuple(both, whole)
}}
ENTRY e {{
  x = {kind}[{rows},{columns}] parameter(0)
  ROOT r = ({kind}[{rows},{columns}], {kind}[]) fusion(x), kind=kLoop, calls=fused
}}""")
    generator = np.random.default_rng(0)
    dtype = module.entry.parameters[0].shape.element_type.dtype
    x = generator.integers(0, 2 if kind == "pred" else 100, (rows, columns)).astype(dtype)
    executable = check(module, arguments=(x,))
    assert f"if (j_1 < {columns - by})" not in executable.source


@pytest.mark.parametrize(("rows", "columns"), [(20, 18), (24, 41)])
def test_sums_of_windows_beside_padding(rows, columns):
    """Sums of 2 x 2 numbers, each less its neighbours, of which those outside are 0."""
    m, n = 2 * rows, 2 * columns
    module = f"""HloModule m
f {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] add(a, b) }}
fused {{
  x = f32[{m},{n}] parameter(0)
  zero = f32[] constant(0)
  wide = f32[{m + 2},{n + 2}] pad(x, zero), padding=1_1x1_1
  left = f32[{m},{n}] slice(wide), slice={{[1:{m + 1}],[0:{n}]}}
  right = f32[{m},{n}] slice(wide), slice={{[1:{m + 1}],[2:{n + 2}]}}
  up = f32[{m},{n}] slice(wide), slice={{[0:{m}],[1:{n + 1}]}}
  down = f32[{m},{n}] slice(wide), slice={{[2:{m + 2}],[1:{n + 1}]}}
  sides = f32[{m},{n}] add(left, right)
  ends = f32[{m},{n}] add(up, down)
  near = f32[{m},{n}] add(sides, ends)
  less = f32[{m},{n}] subtract(x, near)
  cut = f32[{rows},2,{columns},2] reshape(less)
  ROOT r = f32[{rows},{columns}] reduce(cut, zero), dimensions={{1,3}}, to_apply=f
}}
ENTRY e {{
  x = f32[{m},{n}] parameter(0)
  ROOT r = f32[{rows},{columns}] fusion(x), kind=kLoop, calls=fused
}}"""
    executable = check(module, arguments=whole(-9, 9))
    assert "< limit" not in executable.source, "no row and no column asks for its place"
