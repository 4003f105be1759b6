"""Folds of a few columns have a variable for each; C gives what the interpreter gives."""

import pytest
from strategies.compiled import check, whole


@pytest.mark.parametrize("columns", [2, 3, 4])
@pytest.mark.parametrize("opcode", ["add", "maximum", "multiply"])
@pytest.mark.parametrize("kind", ["f32", "s32", "u8", "f64"])
def test_sums_of_coordinates_with_weights(kind, opcode, columns):
    shape = f"{kind}[9,70,{columns}]"
    text = f"""HloModule m
f {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT c = {kind}[] {opcode}(a, b) }}
ENTRY e {{
  x = {kind}[70,{columns}] parameter(0)
  w = {kind}[9,70] parameter(1)
  xs = {shape} broadcast(x), dimensions={{1,2}}
  ws = {shape} broadcast(w), dimensions={{0,1}}
  p = {shape} multiply(xs, ws)
  z = {kind}[] constant(1)
  ROOT s = {kind}[9,{columns}] reduce(p, z), dimensions={{1}}, to_apply=f
}}"""
    check(text, optimize=True, arguments=whole(0, 3))
