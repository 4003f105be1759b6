"""Reduce, scan and map: against loops that apply the computation to one element at a time."""

import operator
from functools import reduce
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import SIZES, binary, listed, run, seeds, specials, wholes, window
from single import values

from hlo.read.parse import parse
from hlo.types.element_type import ARRAY_TYPES
from interpreter import evaluate
from interpreter.fold import IN_ORDER
from interpreter.numbers.compare import compare

ARGMAX = """
argmax {
  best = f32[] parameter(0)
  best_at = s32[] parameter(1)
  next = f32[] parameter(2)
  next_at = s32[] parameter(3)
  larger = pred[] compare(next, best), direction=GT
  equal = pred[] compare(next, best), direction=EQ
  before = pred[] compare(next_at, best_at), direction=LT
  first = pred[] and(equal, before)
  replace = pred[] or(larger, first)
  value = f32[] select(replace, next, best)
  at = s32[] select(replace, next_at, best_at)
  ROOT r = (f32[], s32[]) tuple(value, at)
}
"""
NEXT_BUT_ONE = """
odd {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  two = f32[] constant(2)
  double = f32[] multiply(x, two)
  ROOT r = f32[] add(double, y)
}
"""
PYTHON = {"add": operator.add, "multiply": operator.mul, "maximum": max, "minimum": min}


@given(
    st.lists(SIZES, min_size=1, max_size=3),
    st.data(),
    st.sampled_from(list(PYTHON)),
    seeds,
)
def test_reduce_known_operations(
    dims: list[int], data: st.DataObject, opcode: str, seed: int
) -> None:
    axes = data.draw(st.lists(st.integers(0, len(dims) - 1), unique=True))
    operand, initial = wholes(seed, dims, -2, 3), wholes(seed + 1, ())
    text = f"reduce(p0, p1), dimensions={listed(axes)}, to_apply={opcode}"
    got = run(text, operand, initial, computations=binary(opcode, "f32"))
    want: dict[tuple[int, ...], float] = {}
    for index in np.ndindex(*dims):
        kept = tuple(i for axis, i in enumerate(index) if axis not in axes)
        want[kept] = PYTHON[opcode](want.get(kept, float(initial)), float(operand[index]))
    for kept in np.ndindex(got.shape):
        assert got[kept] == want.get(kept, float(initial))


@pytest.mark.parametrize("name", [t.name for t in ARRAY_TYPES if t.kind != "complex"])
@pytest.mark.parametrize("opcode", ["maximum", "minimum", "add"])
def test_reduce_of_every_type(name: str, opcode: str) -> None:
    row = values(name, [1, 1, 2, 1])
    text = f"reduce(p0, p1), dimensions={{0}}, to_apply={opcode}"
    got = run(text, row, row[0], computations=binary(opcode, name))
    numbers = [float(x) for x in (*row, row[0])]
    total = {"maximum": max, "minimum": min, "add": sum}[opcode](numbers)
    if name == "pred":
        total = min(total, 1)
    assert compare(values(name, total), got) is None


def test_reduce_propagates_nan_and_keeps_integers_wrapping() -> None:
    for nan in (np.nan, -np.nan):
        row = np.array([1, nan, 3, -np.inf, np.inf], np.float32)
        for opcode in PYTHON:
            text = f"reduce(p0, p1), dimensions={{0}}, to_apply={opcode}"
            assert np.isnan(run(text, row, row[0], computations=binary(opcode, "f32")))
    row = np.array([127, 1, 1], np.int8)
    text = "reduce(p0, p1), dimensions={0}, to_apply=add"
    assert run(text, row, np.int8(0), computations=binary("add", "s8")) == -127


@pytest.mark.parametrize("name", ["f32", "bf16", "f64"])
def test_the_larger_zero_is_positive(name: str) -> None:
    zeros = values(name, [[-0.0, 0.0, -0.0], [-0.0, -0.0, -0.0], [0.0, 0.0, 0.0]])
    for opcode, want in {"maximum": [0.0, -0.0, 0.0], "minimum": [-0.0, -0.0, 0.0]}.items():
        infinity = values(name, -np.inf if opcode == "maximum" else np.inf)
        text = f"reduce(p0, p1), dimensions={{1}}, to_apply={opcode}"
        got = run(text, zeros, infinity, computations=binary(opcode, name))
        assert compare(values(name, want), got) is None
        text = f"reduce-window(p0, p1), {window(size=[1, 3])}, to_apply={opcode}"
        got = run(text, zeros, infinity, computations=binary(opcode, name))
        assert compare(values(name, want), got[:, 0]) is None


def test_reduce_of_small_floats_rounds_once() -> None:
    # In bf16, 256 + 1 is 256: rounded at each step the sum would stay there.
    ones = np.ones(512, ml_dtypes.bfloat16)
    text = "reduce(p0, p1), dimensions={0}, to_apply=add"
    assert run(text, ones, ones[0] * 0, computations=binary("add", "bf16")) == 512


@given(st.integers(1, 3 * IN_ORDER), st.integers(1, 3), seeds)
def test_reduce_several_arrays_in_pairs_and_in_order(n: int, columns: int, seed: int) -> None:
    keys = wholes(seed, (n, columns))
    numbers = np.broadcast_to(np.arange(n, dtype=np.int32)[:, np.newaxis], (n, columns))
    text = "reduce(p0, p1, p2, p3), dimensions={0}, to_apply=argmax"
    initial = (np.float32(-np.inf), np.int32(n))
    best, at = run(text, keys, numbers, *initial, computations=ARGMAX)
    assert best.tolist() == keys.max(axis=0).tolist()
    assert at.tolist() == keys.argmax(axis=0).tolist()


def test_reduce_in_order_by_what_is_not_associative() -> None:
    row = wholes(1, 10)
    text = "reduce(p0, p1), dimensions={0}, to_apply=odd"
    got = run(text, row, np.float32(3), computations=NEXT_BUT_ONE)
    assert got == reduce(lambda x, y: 2 * x + y, row.tolist(), 3.0)


@given(st.integers(0, 5), SIZES, st.sampled_from([0, 1]), st.booleans(), seeds)
def test_scan(n: int, others: int, axis: int, backwards: bool, seed: int) -> None:
    dims = [others, others]
    dims[axis] = n
    operand, carry = wholes(seed, dims), wholes(seed + 1, others)
    body = f"""
    body {{
      x = f32[{others}] parameter(0)
      total = f32[{others}] parameter(1)
      next = f32[{others}] add(x, total)
      out = f32[{others}] multiply(x, next)
      ROOT r = (f32[{others}], f32[{others}]) tuple(out, next)
    }}"""
    shape = f"(f32[{dims[0]},{dims[1]}], f32[{others}])"
    text = f"{shape} scan(p0, p1), dimensions={{{axis}}}, num_carries=1, to_apply=body"
    outputs, last = run(
        text + (", is_reverse=true" if backwards else ""), operand, carry, computations=body
    )
    rows, want = np.moveaxis(operand, axis, 0), np.empty_like(operand)
    for step in reversed(range(n)) if backwards else range(n):
        carry = rows[step] + carry
        np.moveaxis(want, axis, 0)[step] = rows[step] * carry
    assert outputs.tolist() == want.tolist()
    assert last.tolist() == carry.tolist()


@given(st.lists(SIZES, max_size=3), seeds)
def test_map(dims: list[int], seed: int) -> None:
    x, y = specials(seed, dims), specials(seed + 1, dims)
    text = f"map(p0, p1), dimensions={listed(range(len(dims)))}, to_apply=odd"
    with np.errstate(all="ignore"):
        want: Any = np.asarray(2 * x + y)
    assert compare(want, run(text, x, y, computations=NEXT_BUT_ONE)) is None


@pytest.mark.parametrize(("shape", "wanted"), [("f32[]", 10.0), ("(f32[])", (10.0,))])
def test_a_scan_may_yield_nothing_but_what_it_carries(shape: str, wanted: object) -> None:
    text = f"""HloModule m
f {{ p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT n = f32[] add(p, q) }}
ENTRY e {{ x = f32[4] parameter(0)
  i = f32[] constant(0)
  ROOT s = {shape} scan(x, i), dimensions={{0}}, num_carries=1, to_apply=f }}"""
    assert evaluate(parse(text), np.array([1, 2, 3, 4], np.float32)) == wanted
