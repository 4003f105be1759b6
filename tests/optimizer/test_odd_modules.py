"""Modules of forms that are rare: passes that run on them alone must take them too."""

import numpy as np
import pytest

import hlo
from hlo.verify import verify
from interpreter import evaluate
from optimizer import parse_pipeline

ONE_COMPUTATION_IS_CONDITION_AND_BODY = """
HloModule m
turn { p = pred[] parameter(0)  ROOT n = pred[] not(p) }
ENTRY e { x = pred[] parameter(0)  ROOT w = pred[] while(x), condition=turn, body=turn }
"""
CALLED_AND_MAPPED = """
HloModule m
same { ROOT p = f32[] parameter(0) }
ENTRY e {
  x = f32[] parameter(0)
  c = f32[] call(x), to_apply=same
  ROOT m = f32[] map(c), dimensions={}, to_apply=same
}
"""
COLUMN_MAJOR_TOPK = """
HloModule m
ENTRY e {
  x = f32[4,6]{0,1} parameter(0)
  ROOT t = (f32[4,2]{0,1}, s32[4,2]{0,1}) topk(x), k=2, largest=true
}
"""
NOTED_IN_ANOTHER_FORM = """
HloModule m
ENTRY e {
  x = f32[4096,4096] parameter(0)
  ROOT y = f32[4096,4096] exponential(x), backend_config={devices_of: 1}
}
"""
SHARDED = """
HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] exponential(x), sharding={replicated}
  z = f32[4] cosine(x), sharding={replicated}
  ROOT s = f32[4] add(y, z)
}
"""
SHARDED_ON_ONE_DEVICE = """
HloModule m
ENTRY e {
  x = f32[4,2] parameter(0)
  y = f32[4,2] exponential(x), sharding={devices=[2,1]<=[2]}
  z = f32[4,2] cosine(x), sharding={devices=[2,1]<=[2]}
  ROOT s = f32[4,2] add(y, z)
}
"""
HALF_OF_A_KERNEL_IS_DEAD = """
HloModule m
scale { a = f32[] parameter(0)  b = f32[] constant(1)  c = f32[] divide(b, a)  ROOT t = tuple(c, b)}
double { a = f32[] parameter(0)  ROOT s = f32[] add(a, a) }
ENTRY e {
  x = f32[] parameter(0)
  d = f32[] fusion(x), kind=kLoop, calls=double
  f = (f32[], f32[]) fusion(d), kind=kLoop, calls=scale
  ROOT g = f32[] get-tuple-element(f), index=1
}
"""


@pytest.mark.parametrize(
    ("pass_name", "text"),
    [
        ("layout-assignment", ONE_COMPUTATION_IS_CONDITION_AND_BODY),
        ("layout-assignment", CALLED_AND_MAPPED),
        ("layout-normalization", COLUMN_MAJOR_TOPK),
        ("cpu-parallel-task-assigner", NOTED_IN_ANOTHER_FORM),
        ("async-wrapper", SHARDED),
        ("horizontal-loop-fusion", SHARDED_ON_ONE_DEVICE),
        ("multi-output-fusion", HALF_OF_A_KERNEL_IS_DEAD),
    ],
)
def test_pass_keeps_value(pass_name, text):
    before = hlo.parse(text)
    after = parse_pipeline(pass_name).run(before)
    verify(after)
    verify(hlo.parse(str(after)))
    (x,) = before.entry.parameters
    given = np.arange(x.shape.size).reshape(x.shape.dims).astype(x.shape.element_type.dtype)
    expected, got = evaluate(before, given), evaluate(after, given)
    for e, g in zip(np.atleast_1d(expected), np.atleast_1d(got), strict=True):
        np.testing.assert_array_equal(e, g)
