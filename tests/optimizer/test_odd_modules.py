"""Modules of forms that are rare: passes that run on them alone must take them too."""

import numpy as np
import pytest

import hlo
from hlo.verify import verify
from interpreter import evaluate
from optimizer import optimize, parse_pipeline

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
FACTOR_OF_NOTHING = """
HloModule m
ENTRY e { x = f32[2,0,0] parameter(0)  ROOT c = f32[2,0,0] cholesky(x), lower=true }
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


UNPACKED_BESIDE = """
HloModule m
f { a = f32[4,4]{0,1} parameter(0)
  b = s32[] parameter(1)
  c = f32[1,4]{0,1} slice(a), slice={[0:1], [0:4]}
  ROOT u = f32[4,4]{0,1} dynamic-update-slice(a, c, b, b) }
g { a = f32[4,4]{0,1} parameter(0)  b = s32[] parameter(1)
  ROOT r = f32[4,4]{0,1} call(a, b), to_apply=f }
ENTRY e {
  x = f32[4,4]{0,1} parameter(0)
  one = s32[] constant(1)
  start = ((f32[4,4]{0,1}, s32[]), f32[4,4]{0,1}, u32[]) async-start(x, one), calls=g
  update = ((f32[4,4]{0,1}, s32[]), f32[4,4]{0,1}, u32[]) async-update(start)
  done = f32[4,4]{0,1} async-done(update)
  ROOT s = f32[4,4]{0,1} add(x, done)
}
"""
FUSED_IN_A_LOOP = """
HloModule m
inner { a = f32[4] parameter(0)  ROOT n = f32[4] negate(a) }
outer { a = f32[4] parameter(0)
  f = f32[4] fusion(a), kind=kLoop, calls=inner
  ROOT d = f32[4] add(f, a) }
turn { s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  n = s32[] add(i, one)
  y = f32[4] fusion(x), kind=kLoop, calls=outer
  ROOT t = (s32[], f32[4]) tuple(n, y) }
goes_on { s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  ROOT c = pred[] compare(i, three), direction=LT }
ENTRY e {
  x = f32[4] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[4]) tuple(zero, x)
  w = (s32[], f32[4]) while(t), condition=goes_on, body=turn
  ROOT r = f32[4] get-tuple-element(w), index=1
}
"""
SENT_IN_THE_TURN_BEFORE = """
HloModule m, num_partitions=2
turn { s = ((f32[4], u32[], token[]), (f32[4], u32[], token[])) parameter(0)
  sent = (f32[4], u32[], token[]) get-tuple-element(s), index=0
  got = (f32[4], u32[], token[]) get-tuple-element(s), index=1
  a = token[] send-done(sent), channel_id=1
  b = (f32[4], token[]) recv-done(got), channel_id=2
  x = f32[4] get-tuple-element(b), index=0
  t = token[] after-all()
  again = (f32[4], u32[], token[]) send(x, t), channel_id=1
  more = (f32[4], u32[], token[]) recv(t), channel_id=2
  ROOT r = ((f32[4], u32[], token[]), (f32[4], u32[], token[])) tuple(again, more) }
goes_on { s = ((f32[4], u32[], token[]), (f32[4], u32[], token[])) parameter(0)
  ROOT c = pred[] constant(true) }
ENTRY e {
  x = f32[4] parameter(0)
  t = token[] after-all()
  sent = (f32[4], u32[], token[]) send(x, t), channel_id=1
  got = (f32[4], u32[], token[]) recv(t), channel_id=2
  s = ((f32[4], u32[], token[]), (f32[4], u32[], token[])) tuple(sent, got)
  w = ((f32[4], u32[], token[]), (f32[4], u32[], token[])) while(s), condition=goes_on, body=turn
  last = (f32[4], u32[], token[]) get-tuple-element(w), index=0
  came = (f32[4], u32[], token[]) get-tuple-element(w), index=1
  a = token[] send-done(last), channel_id=1
  b = (f32[4], token[]) recv-done(came), channel_id=2
  ROOT r = f32[4] get-tuple-element(b), index=0
}
"""
# A call may not take a buffer.
BUFFER_BESIDE = """
HloModule m
ENTRY e {
  x = f32[10] parameter(0)
  b = b(f32[10]) custom-call(x), custom_call_target="Pin",
    output_to_operand_aliasing={{}: (0, {})}
  start = ((b(f32[10])), b(f32[10])) custom-call-start(b), custom_call_target="foo",
    output_to_operand_aliasing={{}: (0, {})}
  done = b(f32[10]) custom-call-done(start)
  ROOT u = f32[10] custom-call(done), custom_call_target="Unpin",
    output_to_operand_aliasing={{}: (0, {})}
}
"""
# The product waits for the start, but not for the end.
STARTED_BEFORE = """
HloModule m
f { a = f32[4] parameter(0)  ROOT n = f32[4] negate(a) }
ENTRY e {
  x = f32[4] parameter(0)
  start = ((f32[4]), f32[4], u32[]) async-start(x), calls=f
  p = f32[4] multiply(x, x), control-predecessors={start}
  done = f32[4] async-done(start)
  ROOT s = f32[4] add(p, done)
}
"""
# What is under way when the other computation ends is part of its value.
SENT_BESIDE = """
HloModule m
sending {
  a = f32[] parameter(0)
  t = token[] parameter(1)
  s = (f32[], u32[], token[]) send(a, t), channel_id=1
  r = (f32[], u32[], token[]) recv(t), channel_id=1
  ROOT o = ((f32[], u32[], token[]), (f32[], u32[], token[])) tuple(s, r)
}
ENTRY e {
  x = f32[] parameter(0)
  t = token[] after-all()
  start = ((f32[], token[]), ((f32[], u32[], token[]), (f32[], u32[], token[])), s32[])
    async-start(x, t), calls=sending
  done = ((f32[], u32[], token[]), (f32[], u32[], token[])) async-done(start)
  got = (f32[], u32[], token[]) get-tuple-element(done), index=1
  y = f32[] get-tuple-element(got), index=0
  u = token[] get-tuple-element(got), index=2
  ROOT z = (f32[], token[]) tuple(y, u), control-predecessors={start}
}
"""
RECEIVED_BESIDE = """
HloModule m
receiving {
  t = token[] parameter(0)
  ROOT r = (f32[], u32[], token[]) recv(t), channel_id=1
}
ENTRY e {
  t = token[] after-all()
  start = ((token[]), (f32[], u32[], token[]), s32[]) async-start(t), calls=receiving
  done = (f32[], u32[], token[]) async-done(start)
  ROOT y = f32[] get-tuple-element(done), index=0
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
        ("cholesky_expander", FACTOR_OF_NOTHING),
        ("horizontal-loop-fusion", SHARDED_ON_ONE_DEVICE),
        ("multi-output-fusion", HALF_OF_A_KERNEL_IS_DEAD),
        ("while_loop_unroller", FUSED_IN_A_LOOP),
        ("async-unwrapper,inline,copy-insertion", UNPACKED_BESIDE),
        ("async-unwrapper", STARTED_BEFORE),
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


@pytest.mark.parametrize("target", ["cpu", "gpu"])
@pytest.mark.parametrize(
    "text",
    [
        *(UNPACKED_BESIDE, FUSED_IN_A_LOOP, SENT_IN_THE_TURN_BEFORE),
        *(BUFFER_BESIDE, STARTED_BEFORE, SENT_BESIDE, RECEIVED_BESIDE),
    ],
)
def test_pipeline_leaves_modules_sound(text, target):
    verify(optimize(hlo.parse(text), target))
