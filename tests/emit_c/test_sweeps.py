"""Kernels with several results and several sweeps, in C as in the interpreter."""

import numpy as np
import pytest
from emitted import checked, emitted

import emit_c
import hlo
from codegen.expressions import Name
from codegen.statements import Assign, Let
from interpreter import evaluate
from interpreter.numbers.compare import ROUNDING, compare
from optimizer import parse_pipeline

HEAD = """
HloModule m
add { a = {T}[] parameter(0) b = {T}[] parameter(1) ROOT c = {T}[] add(a, b) }
largest { a = {T}[] parameter(0) b = {T}[] parameter(1) ROOT c = {T}[] maximum(a, b) }
odd {
  a = {T}[] parameter(0)
  b = {T}[] parameter(1)
  n = {T}[] negate(b)
  ROOT c = {T}[] subtract(a, n)
}
ENTRY e {
"""
# Sums of x, over some dimensions, and x less the mean, divided by the largest difference.
NORMALIZE = """
  x = {T}[{D}] parameter(0)
  zero = {T}[] constant(0)
  low = {T}[] constant(-inf)
  n = {T}[] constant(0.125)
  s = {T}[{K}] reduce(x, zero), dimensions={{R}}, to_apply={F}
  nb = {T}[{K}] broadcast(n), dimensions={}
  m = {T}[{K}] multiply(s, nb)
  mb = {T}[{D}] broadcast(m), dimensions={{B}}
  d = {T}[{D}] subtract(x, mb)
  e = {T}[{D}] exponential(d)
  l = {T}[{K}] reduce(e, low), dimensions={{R}}, to_apply=largest
  lb = {T}[{D}] broadcast(l), dimensions={{B}}
  y = {T}[{D}] divide(e, lb)
  ROOT t = ({T}[{D}], {T}[{K}], {T}[{D}]) tuple(y, m, d)
}
"""


def normalize(dims, reduced, kind="f32", function="add"):
    """A module that normalizes over some dimensions."""
    kept = [d for d in range(len(dims)) if d not in reduced]
    words = {
        "T": kind,
        "D": ",".join(map(str, dims)),
        "K": ",".join(str(dims[d]) for d in kept),
        "R": ",".join(map(str, reduced)),
        "B": ",".join(map(str, kept)),
        "F": function,
    }
    text = HEAD + NORMALIZE
    for word, meaning in words.items():
        text = text.replace(f"{{{word}}}", meaning)
    return hlo.parse(text)


def check(module, kernels=1):
    """What the C of a fused module is made of, if it is right and has so many kernels."""
    fused = parse_pipeline("fusion,multi-output-fusion").run(module)
    generator = np.random.default_rng(0)
    inputs = [
        generator.standard_normal(p.shape.dims).astype(p.shape.element_type.dtype)
        for p in module.entry.parameters
    ]
    made = emitted(fused, optimize=False)
    assert len(made.statements) == kernels
    values = emit_c.compile(fused, optimize=False)(*inputs)
    assert compare(values, evaluate(module, *inputs), ROUNDING) is None
    return made


@pytest.mark.parametrize(
    ("dims", "reduced"),
    [
        ((5, 7), (1,)),
        ((5, 7), (0,)),
        ((5, 70), (0,)),
        ((3, 8, 33), (1,)),
        ((64,), (0,)),
        ((3, 4, 5), (1, 2)),
        ((3, 4, 5), (0, 2)),
        ((3, 4, 5), (1,)),
        ((3, 4, 1037), (0, 1)),
        ((2, 1, 6), (2,)),
        ((1, 1), (1,)),
    ],
)
@pytest.mark.parametrize("function", ["add", "odd"])
def test_folds_and_what_needs_them_are_one_kernel(dims, reduced, function):
    check(normalize(dims, reduced, function=function))


@pytest.mark.parametrize("kind", ["bf16", "f64", "f16"])
@pytest.mark.parametrize("reduced", [(0,), (1,)])
def test_narrow_and_wide_types(kind, reduced):
    check(normalize((6, 9), reduced, kind))


def loops(made):
    """The loops of the kernel, without their bodies: counters and limits."""
    return {(loop.name, loop.stop) for loop in made.loops}


@pytest.mark.parametrize(
    ("dims", "reduced", "written"),
    [
        ((40, 2, 30), (2,), ("i", 80)),
        ((3, 20, 50, 2), (1,), ("column", 100)),
        ((3, 4, 50, 2), (1,), ("i_1", 100)),
        ((50, 5, 9), (1, 2), ("j", 45)),
        ((3, 4, 50, 2, 5), (1, 4), ("i_1", 100)),
    ],
    ids=["rows", "columns", "columns of few rows", "what is folded", "rows behind folds"],
)
def test_dimensions_that_stay_neighbours_are_one_loop(dims, reduced, written):
    assert written in loops(check(normalize(dims, reduced)))


def test_dimensions_that_a_value_has_apart_stay_two_loops():
    made = check(
        hlo.parse("""HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[40,2,30] parameter(0)
  bias = f32[2] parameter(1)
  zero = f32[] constant(0)
  b = f32[40,2,30] broadcast(bias), dimensions={1}
  y = f32[40,2,30] add(x, b)
  total = f32[40,2] reduce(y, zero), dimensions={2}, to_apply=add
  t = f32[40,2,30] broadcast(total), dimensions={0,1}
  z = f32[40,2,30] subtract(y, t)
  ROOT e = f32[40,2,30] tanh(z)
}""")
    )
    assert {("i", 40), ("i_1", 2)} <= loops(made)


def test_dear_values_are_computed_once():
    assert check(normalize((64, 32), (1,))).callees.count("hlo_exp_f32") == 1


def test_rows_that_the_cache_does_not_hold_are_several_kernels():
    module = normalize((1, 100_000), (1,), function="largest")
    check(module, kernels=3)


def test_results_of_other_dimensions_in_the_same_order():
    module = hlo.parse("""
HloModule m
ENTRY e {
  x = f32[24] parameter(0)
  y = f32[4,6] parameter(1)
  b = f32[6] parameter(2)
  s = f32[24] sine(x)
  r = f32[4,6] reshape(s)
  c = f32[4,6] broadcast(b), dimensions={1}
  m = f32[4,6] multiply(r, c)
  a = f32[4,6] add(m, y)
  ROOT t = (f32[24], f32[4,6]) tuple(s, a)
}""")
    check(module)


def test_one_result_twice():
    module = hlo.parse("""
HloModule m
fused {
  x = f32[8] parameter(0)
  n = f32[8] negate(x)
  e = f32[8] exponential(n)
  ROOT t = (f32[8], f32[8], f32[8]) tuple(n, e, n)
}
ENTRY e {
  x = f32[8] parameter(0)
  ROOT f = (f32[8], f32[8], f32[8]) fusion(x), kind=kLoop, calls=fused
}""")
    check(module)


def test_what_is_used_several_times_at_one_index_is_a_variable():
    module = hlo.parse("""
HloModule m
fused {
  x = f32[4,6] parameter(0)
  y = f32[6,4] parameter(1)
  s = f32[4,6] add(x, x)
  t = f32[6,4] transpose(s), dimensions={1,0}
  r = f32[24] reshape(s)
  q = f32[4,6] reshape(r)
  u = f32[6,4] transpose(q), dimensions={1,0}
  m = f32[6,4] multiply(t, u)
  ROOT a = f32[6,4] add(m, y)
}
ENTRY e {
  x = f32[4,6] parameter(0)
  y = f32[6,4] parameter(1)
  ROOT f = f32[6,4] fusion(x, y), kind=kLoop, calls=fused
}""")
    declared = [s.name for s in check(module).nested if isinstance(s, Let)]
    assert declared.count("s") == 1


def test_what_is_folded_may_be_cut_too():
    module = hlo.parse(
        """HloModule trapezoid

        add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT s = f32[] add(x, y) }

        ENTRY e {
          x = f32[9] parameter(0)
          zero = f32[] constant(0)
          sum = f32[] reduce(x, zero), dimensions={0}, to_apply=add
          first = f32[1] slice(x), slice={[0:1]}
          last = f32[1] slice(x), slice={[8:9]}
          ends = f32[1] add(first, last)
          end = f32[] reshape(ends)
          ROOT r = f32[] subtract(sum, end)
        }"""
    )
    x = np.arange(9, dtype=np.float32)
    assert emit_c.compile(module)(x) == evaluate(module, x) == 28


@pytest.mark.parametrize("rows", [2, 5, 8])
def test_few_rows_of_sums_are_written_out_for_columns_in_lanes(rows):
    module = hlo.parse(f"""HloModule m
    add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }}
    ENTRY e {{
      x = f32[{rows},70] parameter(0)
      zero = f32[] constant(0)
      squares = f32[{rows},70] multiply(x, x)
      sums = f32[70] reduce(squares, zero), dimensions={{0}}, to_apply=add
      ROOT roots = f32[70] sqrt(sums)
    }}""")
    made = check(module)
    assert len(made.loops) == 1
    assert sum(isinstance(s, Assign) and s.target == Name("sums") for s in made.nested) == rows


def test_first_of_some_conditions_is_found_without_a_loop_over_conditions():
    """`jnp.select` folds pairs of a condition and its number."""
    module = hlo.parse("""HloModule m
    first {
      a = pred[] parameter(0)
      i = s32[] parameter(1)
      b = pred[] parameter(2)
      j = s32[] parameter(3)
      either = pred[] or(a, b)
      before = pred[] compare(i, j), direction=LE
      least = s32[] select(before, i, j)
      own = s32[] select(a, i, j)
      both = pred[] and(a, b)
      k = s32[] select(both, least, own)
      ROOT t = (pred[], s32[]) tuple(either, k)
    }
    ENTRY e {
      c = pred[3,100] parameter(0)
      no = pred[] constant(false)
      zero = s32[] constant(0)
      n = s32[3,100] iota(), iota_dimension=0
      ROOT r = (pred[100], s32[100]) reduce(c, n, no, zero), dimensions={0}, to_apply=first
    }""")
    conditions = np.random.default_rng(0).random((3, 100)) < 0.4
    assert len(checked(module, optimize=True, arguments=(conditions,)).loops) == 1


@pytest.mark.parametrize("function", ["log", "negate"])
def test_two_functions_of_a_column_have_loops_of_their_own(function):
    module = hlo.parse(
        HEAD.replace("{T}", "f32")
        + f"""
  x = f32[3,41] parameter(0)
  zero = f32[] constant(0)
  e = f32[3,41] exponential(x)
  s = f32[41] reduce(e, zero), dimensions={{0}}, to_apply=add
  ROOT y = f32[41] {function}(s)
}}"""
    )
    x = np.random.default_rng(0).standard_normal((3, 41)).astype(np.float32)
    made = checked(module, ROUNDING, optimize=True, arguments=(x,))
    assert made.callees.count("hlo_exp_f32") == (1 if function == "log" else 3)
