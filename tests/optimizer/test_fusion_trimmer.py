"""Outputs of fusions that nobody takes are removed, unless the tuple of all waits for others."""

import pytest

import hlo
from optimizer import Log, parse_pipeline

TEXT = """HloModule m
body {{
  x = f32[] parameter(0)
  n = f32[] negate(x)
  ROOT t = (f32[], f32[]) tuple(x, n){waits}
}}
ENTRY e {{
  x = f32[] parameter(0)
  f = (f32[], f32[]) fusion(x), kind=kLoop, calls=body
  ROOT r = f32[] get-tuple-element(f), index=1
}}"""


@pytest.mark.parametrize(("waits", "shape"), [
    ("", "f32[]"),
    (", control-predecessors={x}", "(f32[], f32[])"),
])  # fmt: skip
def test_outputs_that_nobody_takes(waits, shape):
    module = parse_pipeline("dce").run(hlo.parse(TEXT.format(waits=waits)), Log())
    hlo.verify(module)
    (fusion,) = (i for i in module.instructions() if i.opcode == "fusion")
    assert str(fusion.shape) == shape
