"""Loops and branches, inside kernels and around them: C gives what the interpreter gives."""

import re

import numpy as np
import pytest
from emitted import checked, emitted
from strategies.compiled import check, entry

import emit_c
import hlo
from codegen.statements import LocalVariable, Try
from interpreter.numbers.compare import ROUNDING


def test_map_with_branches_and_loops_inside():
    before = """step { p = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0  v = s32[] get-tuple-element(p), index=1
  one = s32[] constant(1)  j = s32[] subtract(i, one)  w = s32[] add(v, v)
  ROOT t = (s32[], s32[]) tuple(j, w) }
more { p.1 = (s32[], s32[]) parameter(0)  i.1 = s32[] get-tuple-element(p.1), index=0
  zero = s32[] constant(0)  ROOT g = pred[] compare(i.1, zero), direction=GT }
up { a = s32[] parameter(0)  ROOT n = s32[] negate(a) }
same { a.1 = s32[] parameter(0)  ROOT c = s32[] copy(a.1) }
power { x = s32[] parameter(0)  y = s32[] parameter(1)
  s = (s32[], s32[]) tuple(x, y)  w.1 = (s32[], s32[]) while(s), condition=more, body=step
  v.1 = s32[] get-tuple-element(w.1), index=1  two = s32[] constant(2)
  big = pred[] compare(x, two), direction=GT
  ROOT r.1 = s32[] conditional(big, v.1, y), true_computation=up, false_computation=same }"""
    check(entry("""m = s32[50] parameter(0)
n = s32[50] parameter(1)
ROOT q = s32[50] map(m, n), dimensions={0}, to_apply=power""", before))  # fmt: skip


def test_while_turns_its_buffers_round():
    before = """cond { p = (s32[], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(5)
  ROOT l = pred[] compare(i, n), direction=LT }
body { q = (s32[], f32[4], f32[4]) parameter(0)
  j = s32[] get-tuple-element(q), index=0  a = f32[4] get-tuple-element(q), index=1
  b = f32[4] get-tuple-element(q), index=2  one = s32[] constant(1)  k = s32[] add(j, one)
  c = f32[4] add(a, b)  ROOT t = (s32[], f32[4], f32[4]) tuple(k, b, c) }"""
    for start in range(7):
        check(entry(f"""z = s32[] constant({start})
x = f32[4] parameter(0)
y = f32[4] parameter(1)
s = (s32[], f32[4], f32[4]) tuple(z, x, y)
w = (s32[], f32[4], f32[4]) while(s), condition=cond, body=body
f = f32[4] get-tuple-element(w), index=2
ROOT r = (f32[4], (s32[], f32[4], f32[4])) tuple(f, w)""", before))  # fmt: skip


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 9])
def test_conditional_takes_the_last_branch_out_of_range(index):
    before = """a { x = f32[3] parameter(0)  ROOT n = f32[3] negate(x) }
b { x.1 = f32[3] parameter(0)  ROOT n.1 = f32[3] exponential(x.1) }
c { x.2 = f32[3] parameter(0)  ROOT n.2 = f32[3] add(x.2, x.2) }"""
    check(
        entry(
            f"""i = s32[] constant({index})
x.3 = f32[3] parameter(0)
y = f32[3] parameter(1)
ROOT r = f32[3] conditional(i, x.3, y, x.3), branch_computations={{a, b, c}}""",
            before,
        ),
        ROUNDING,
    )


def test_a_loop_that_fills_an_array_updates_it_in_place():
    before = """cond { p = (s32[], f32[40], f32[40], f32[40]) parameter(0)
  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(40)
  ROOT l = pred[] compare(i, n), direction=LT }
body { q = (s32[], f32[40], f32[40], f32[40]) parameter(0)
  j = s32[] get-tuple-element(q), index=0  xs = f32[40] get-tuple-element(q), index=1
  ys = f32[40] get-tuple-element(q), index=2  zs = f32[40] get-tuple-element(q), index=3
  one = s32[] constant(1)  k = s32[] add(j, one)
  x = f32[1] dynamic-slice(xs, j), dynamic_slice_sizes={1}  e = f32[1] negate(x)
  new = f32[40] dynamic-update-slice(ys, e, j)
  kept = f32[1] dynamic-slice(zs, j), dynamic_slice_sizes={1}
  other = f32[40] dynamic-update-slice(zs, kept, one)
  ROOT t = (s32[], f32[40], f32[40], f32[40]) tuple(k, xs, new, other) }"""
    made = checked(entry("""z = s32[] constant(0)
x.1 = f32[40] parameter(0)
y = f32[40] parameter(1)
s = (s32[], f32[40], f32[40], f32[40]) tuple(z, x.1, y, y)
w = (s32[], f32[40], f32[40], f32[40]) while(s), condition=cond, body=body
f = f32[40] get-tuple-element(w), index=2
ROOT r = (f32[40], (s32[], f32[40], f32[40], f32[40]), f32[40]) tuple(f, w, y)""",
                             before))  # fmt: skip
    # `zs` is read for the last time before it is updated, so the loop copies nothing.
    assert 160 not in made.bytes_copied("body_computation")


def test_a_loop_that_computes_an_element_from_others_updates_it_in_place():
    before = """cond { p = (s32[], f32[40]) parameter(0)
  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(39)
  ROOT l = pred[] compare(i, n), direction=LT }
sum { param = f32[40] parameter(0)  here = s32[] parameter(1)  next = s32[] parameter(2)
  before = f32[1] dynamic-slice(param, here), dynamic_slice_sizes={1}
  own = f32[1] dynamic-slice(param, next), dynamic_slice_sizes={1}
  e = f32[1] add(before, own)
  ROOT new = f32[40] dynamic-update-slice(param, e, next) }
body { q = (s32[], f32[40]) parameter(0)
  j = s32[] get-tuple-element(q), index=0  xs = f32[40] get-tuple-element(q), index=1
  one = s32[] constant(1)  k = s32[] add(j, one)
  f = f32[40] fusion(xs, j, k), kind=kLoop, calls=sum
  ROOT t = (s32[], f32[40]) tuple(k, f) }"""
    made = checked(entry("""z = s32[] constant(0)
x.1 = f32[40] parameter(0)
s = (s32[], f32[40]) tuple(z, x.1)
w = (s32[], f32[40]) while(s), condition=cond, body=body
ROOT r = f32[40] get-tuple-element(w), index=1""", before))  # fmt: skip
    # All that the element is computed from is loaded before it is stored, so nothing is copied.
    assert 160 not in made.bytes_copied("body_computation")
    assert not any("swapped" in name for name in made.program.parts.calls.functions)


HANDS_ON = """q = (s32[], f32[3]) parameter(0)
  a = s32[] get-tuple-element(q), index=0  b = f32[3] get-tuple-element(q), index=1
  c = f32[3] copy(b)  ROOT t = (s32[], f32[3]) tuple(a, c)"""


@pytest.mark.parametrize("body", ["ROOT q = (s32[], f32[3]) parameter(0)", HANDS_ON])
def test_a_loop_that_changes_nothing_ends(body):
    before = f"""always {{ p = (s32[], f32[3]) parameter(0)  ROOT y = pred[] constant(true) }}
same {{ {body} }}"""
    check(entry("""i = s32[] constant(1)
x = f32[3] parameter(0)
s = (s32[], f32[3]) tuple(i, x)
ROOT w = (s32[], f32[3]) while(s), condition=always, body=same""", before))  # fmt: skip


@pytest.mark.parametrize("optimize", [False, True])
def test_a_loop_over_scalars_leaves_constants_alone(optimize):
    """The limit is a constant of the library, in memory that can't be written."""
    before = """cond { p = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0  n = s32[] get-tuple-element(p), index=1
  ROOT l = pred[] compare(i, n), direction=LT }
body { q = (s32[], s32[]) parameter(0)
  j = s32[] get-tuple-element(q), index=0  m = s32[] get-tuple-element(q), index=1
  k = s32[] add(j, j)  ROOT t = (s32[], s32[]) tuple(k, m) }"""
    module = hlo.parse(entry("""start = s32[] parameter(0)
limit = s32[] constant(100)
s = (s32[], s32[]) tuple(start, limit)
w = (s32[], s32[]) while(s), condition=cond, body=body
ROOT last = s32[] get-tuple-element(w), index=0""", before))  # fmt: skip
    executable = emit_c.compile(module, optimize=optimize)
    assert executable(np.int32(3)) == 192
    (kernel,) = re.findall(r"^static int w\w*_kernel\((.*?)\)", executable.source, re.MULTILINE)
    assert kernel.count("const s32 *") == kernel.count("*") - 1, kernel


def test_a_loop_over_scalars_runs_in_variables():
    before = """cond { p = (s32[], f32[], pred[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0  n = s32[] constant(40)
  ROOT l = pred[] compare(i, n), direction=LT }
half { a.1 = f32[] parameter(0)  h = f32[] constant(0.5)  ROOT m.1 = f32[] multiply(a.1, h) }
twice { b = f32[] parameter(0)  ROOT t.1 = f32[] add(b, b) }
body { q = (s32[], f32[], pred[]) parameter(0)
  j = s32[] get-tuple-element(q), index=0  x = f32[] get-tuple-element(q), index=1
  f = pred[] get-tuple-element(q), index=2
  one = s32[] constant(1)  k = s32[] add(j, one)
  c = f32[] conditional(f, x, x), true_computation=half, false_computation=twice
  y = f32[] convert(j)  z = f32[] add(c, y)  g = pred[] not(f)
  ROOT t = (s32[], f32[], pred[]) tuple(k, z, g) }"""
    made = checked(entry("""o = s32[] constant(0)
start = f32[] parameter(0)
f.1 = pred[] constant(true)
s = (s32[], f32[], pred[]) tuple(o, start, f.1)
ROOT w = (s32[], f32[], pred[]) while(s), condition=cond, body=body""", before))  # fmt: skip
    assert made.program.parts.calls.functions.keys() == {"run"}
    assert any(isinstance(s, Try) and s.function.name == "asked_to_stop" for s in made.nested)


def test_a_function_says_what_it_is_to_its_caller():
    before = """more { p = (s32[], f32[9]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(3)  ROOT l = pred[] compare(i, n), direction=LT }
iteration { q = (s32[], f32[9]) parameter(0)  j = s32[] get-tuple-element(q), index=0
  x = f32[9] get-tuple-element(q), index=1  o = s32[] constant(1)  k = s32[] add(j, o)
  y = f32[9] tanh(x)  ROOT t = (s32[], f32[9]) tuple(k, y) }
same { a = f32[9] parameter(0)  ROOT c = f32[9] copy(a) }
less { b = f32[9] parameter(0)  ROOT d = f32[9] negate(b) }"""
    executable = check(entry("""x.1 = f32[9] parameter(0)
z = s32[] constant(0)
s = (s32[], f32[9]) tuple(z, x.1)
w = (s32[], f32[9]) while(s), condition=more, body=iteration
f = f32[9] get-tuple-element(w), index=1
g = s32[] parameter(1)
ROOT r = f32[9] conditional(g, f, f), branch_computations={same, less}""", before),
             ROUNDING)  # fmt: skip
    lines = executable.source.split("\n")
    assert "// computation more, the condition of %w" in lines
    assert "// computation iteration, the body of %w" in lines
    assert "// computation same, branch 0 of %r" in lines
    assert "// computation less, branch 1 of %r" in lines
    assert "// computation e, the entry" in lines


COUNTS = """HloModule m
more {{ p = (s32[], {0}) parameter(0)  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(11)  ROOT l = pred[] compare(i, n), direction=LT }}
step {{ q = (s32[], {0}) parameter(0)  j = s32[] get-tuple-element(q), index=0
  x = {0} get-tuple-element(q), index=1  one = s32[] constant(1)  k = s32[] add(j, one)
  y = {0} add(x, x)  ROOT t = (s32[], {0}) tuple(k, y) }}
again {{ q = (s32[], {0}) parameter(0)  j = s32[] get-tuple-element(q), index=0
  x = {0} get-tuple-element(q), index=1  zero = s32[] constant(0)
  s = (s32[], {0}) tuple(zero, x)  w = (s32[], {0}) while(s), condition=more, body=step
  y = {0} get-tuple-element(w), index=1  one = s32[] constant(1)  k = s32[] add(j, one)
  ROOT t = (s32[], {0}) tuple(k, y) }}
ENTRY e {{ x = {0} parameter(0)  zero = s32[] constant(0)  s = (s32[], {0}) tuple(zero, x)
  ROOT w = (s32[], {0}) while(s), condition=more, body={1} }}"""


@pytest.mark.parametrize("kind", ["f32[]", "f32[9]"])
def test_a_loop_asks_the_clock_after_some_time_only(kind):
    (turns,) = first_turns(COUNTS.format(kind, "step"))
    assert 100 < turns < 100_000


def test_a_loop_of_much_work_asks_the_clock_at_once():
    assert first_turns(COUNTS.format("f32[1000000]", "step")) == [0]


def test_a_loop_around_a_loop_asks_the_clock_at_once():
    inner, outer = first_turns(COUNTS.format("f32[9]", "again"))
    assert inner > 100
    assert outer == 0


def first_turns(text):
    """The iterations of each loop in the C of a module before it asks the clock."""
    made = emitted(text)
    steps = [s for name in made.program.parts.calls.functions for s in made.steps(name)]
    told = [s.value.values[0] for s in (*made.nested, *steps) if is_patience(s)]
    return [each.value for each in told]


def is_patience(statement):
    return isinstance(statement, LocalVariable) and statement.name.startswith("patience")
