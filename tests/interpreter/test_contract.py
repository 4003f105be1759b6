"""Dot, ragged-dot and scaled-dot: against sums of products, one element at a time."""

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import listed, run, seeds, wholes
from single import values

import hlo
from hlo.types.element_type import ARRAY_TYPES, ELEMENT_TYPES
from interpreter import evaluate
from interpreter.numbers.compare import ZERO_SIGN, compare

SIZE = st.integers(0, 3)


def dims_text(**dims: Any) -> str:
    return ", ".join(f"{key}={listed(value)}" for key, value in dims.items())


@st.composite
def arranged(draw: st.DrawFn, *kinds: list[int]) -> tuple[list[int], list[list[int]]]:
    """Sizes of an operand whose dimensions of several kinds come in any order, and their places."""
    labels = [(kind, i) for kind, sizes in enumerate(kinds) for i in range(len(sizes))]
    order = draw(st.permutations(labels))
    sizes = [kinds[kind][i] for kind, i in order]
    return sizes, [[order.index((k, i)) for i in range(len(s))] for k, s in enumerate(kinds)]


@given(st.data(), st.sampled_from(["f32", "f64", "s32", "s8", "u16", "c64", "pred"]), seeds)
def test_dot(data: st.DataObject, name: str, seed: int) -> None:
    batch, depth, rows, columns = (data.draw(st.lists(SIZE, max_size=2)) for _ in range(4))
    lhs_dims, (lhs_batch, lhs_depth, _) = data.draw(arranged(batch, depth, rows))
    rhs_dims, (rhs_batch, rhs_depth, _) = data.draw(arranged(batch, depth, columns))
    lhs = values(name, wholes(seed, lhs_dims))
    rhs = values(name, wholes(seed + 1, rhs_dims))
    text = dims_text(
        lhs_batch_dims=lhs_batch,
        lhs_contracting_dims=lhs_depth,
        rhs_batch_dims=rhs_batch,
        rhs_contracting_dims=rhs_depth,
    )
    got = run(f"dot(p0, p1), {text}", lhs, rhs)
    free = [
        [d for d in range(len(lhs_dims)) if d not in lhs_batch + lhs_depth],
        [d for d in range(len(rhs_dims)) if d not in rhs_batch + rhs_depth],
    ]
    # einsum with a letter a dimension, unoptimized, is the loop over all elements.
    letters = iter("abcdefghijklmnop")
    left = {d: next(letters) for d in range(len(lhs_dims))}
    right = {d: next(letters) for d in free[1]}
    right |= {d: left[e] for d, e in zip(rhs_batch + rhs_depth, lhs_batch + lhs_depth, strict=True)}
    result = [left[d] for d in lhs_batch + free[0]] + [right[d] for d in free[1]]
    terms = ["".join(side[d] for d in sorted(side)) for side in (left, right)]
    wide = np.complex128 if name == "c64" else np.float64 if name[0] == "f" else np.int64
    equation = f"{terms[0]},{terms[1]}->{''.join(result)}"
    want = np.einsum(equation, lhs.astype(wide), rhs.astype(wide))
    # The sign of a zero depends on the order of the sum.
    assert compare(np.asarray(want).astype(lhs.dtype), got, ZERO_SIGN) is None


@pytest.mark.parametrize("name", [t.name for t in ARRAY_TYPES])
def test_dot_of_every_type(name: str) -> None:
    row = values(name, [1, 1, 1, 1])
    text = dims_text(lhs_contracting_dims=[0], rhs_contracting_dims=[0])
    got = run(f"dot(p0, p1), {text}", row, row)
    assert (
        compare(values(name, 1 if name == "pred" else sum(row.astype(complex)).real), got) is None
    )


def test_dot_sums_small_floats_in_f32() -> None:
    ones = np.ones((1, 512), ml_dtypes.bfloat16)
    text = dims_text(lhs_contracting_dims=[1], rhs_contracting_dims=[1])
    assert run(f"bf16[1,1] dot(p0, p1), {text}", ones, ones) == 512


@pytest.mark.parametrize(
    ("operand", "result"), [("s8", "s32"), ("bf16", "f32"), ("s32", "s8"), ("f32", "f64")]
)
def test_dot_of_a_preferred_type(operand: str, result: str) -> None:
    row = values(operand, [100, 3])
    text = dims_text(lhs_contracting_dims=[0], rhs_contracting_dims=[0])
    got = run(f"{result}[] dot(p0, p1), {text}", row, row)
    assert compare(values(result, 10009), got) is None


@pytest.mark.parametrize(
    ("name", "row", "want"),
    [
        # XLA CPU's answers: the sum is rounded to the operands' type, then truncated.
        ("f32", [-100.7, -50], -276),
        ("bf16", [-100.7, -50], -276),
        ("f8e5m2", [-100.7, -50], -256),
        ("f32", [1e30, 1], 2**31 - 1),
        ("f32", [np.nan, 1], 0),
    ],
)
def test_sums_of_floats_become_integers_last(name: str, row: list[float], want: int) -> None:
    dims = dims_text(lhs_contracting_dims=[1], rhs_contracting_dims=[0])
    lhs, rhs = values(name, [row]), values(name, [[1.5], [2.5]])
    assert run(f"s32[1,1] dot(p0, p1), {dims}", lhs, rhs) == want
    assert run("s32[1,1] convolution(p0, p1), dim_labels=bf_io->bf", lhs, rhs) == want


def test_dot_of_integers_wraps() -> None:
    row = np.full(3, 2**31 - 1, np.int32)
    text = dims_text(lhs_contracting_dims=[0], rhs_contracting_dims=[0])
    assert run(f"dot(p0, p1), {text}", row, row) == 3


def groups(sizes: Any) -> list[range]:
    ends = np.cumsum(sizes)
    return [range(max(int(e - n), 0), int(e)) for e, n in zip(ends, sizes, strict=True)]


# A negative size lets the next group begin before the end of the last one.
group_sizes = st.lists(st.integers(-2, 3), min_size=1, max_size=3)


@given(group_sizes, st.integers(1, 2), seeds)
def test_ragged_rows(sizes: list[int], batch: int, seed: int) -> None:
    m, k, n = sum(map(abs, sizes)) + 1, 2, 3
    lhs, rhs = wholes(seed, (batch, m, k)), wholes(seed + 1, (len(sizes), batch, k, n))
    each = np.array([sizes, sizes[::-1]][:batch], np.int32)
    text = dims_text(
        lhs_batch_dims=[0],
        rhs_batch_dims=[1],
        lhs_contracting_dims=[2],
        rhs_contracting_dims=[2],
        lhs_ragged_dims=[1],
        rhs_group_dims=[0],
    )
    # A NaN in one group's weights must not reach the other groups.
    rhs[0] = np.nan
    got = run(f"f32[{batch},{m},{n}] ragged-dot(p0, p1, p2), {text}", lhs, rhs, each)
    want = np.zeros((batch, m, n), np.float32)
    for b in range(batch):
        for group, rows in enumerate(groups(each[b])):
            for row in rows:
                want[b, row] += lhs[b, row] @ rhs[group, b]
    assert compare(want, got) is None


@given(group_sizes, seeds)
def test_ragged_sums(sizes: list[int], seed: int) -> None:
    m, k, n = 2, sum(map(abs, sizes)) + 1, 3
    lhs, rhs = wholes(seed, (k, m)), wholes(seed + 1, (n, k))
    lhs[-1] = np.nan
    text = dims_text(lhs_contracting_dims=[0], rhs_contracting_dims=[1], lhs_ragged_dims=[0])
    each = np.array(sizes, np.int64)
    got = run(f"f32[{len(sizes)},{m},{n}] ragged-dot(p0, p1, p2), {text}", lhs, rhs, each)
    for group, depth in enumerate(groups(sizes)):
        for i, j in product(range(m), range(n)):
            assert got[group, i, j] == sum(lhs[d, i] * rhs[j, d] for d in depth)


def test_ragged_batch_is_a_dot() -> None:
    lhs, rhs = wholes(1, (3, 2, 4)), wholes(2, (3, 4, 5))
    text = dims_text(
        lhs_batch_dims=[0],
        rhs_batch_dims=[0],
        lhs_contracting_dims=[2],
        rhs_contracting_dims=[1],
        lhs_ragged_dims=[0],
    )
    got = run(f"f32[3,2,5] ragged-dot(p0, p1, p2), {text}", lhs, rhs, np.array([1, 1], np.int32))
    assert got.tolist() == (lhs @ rhs).tolist()


def test_scaled_dot_scales_blocks() -> None:
    lhs, rhs = values("f8e4m3fn", wholes(1, (2, 8))), values("f8e4m3fn", wholes(2, (8, 3)))
    lhs_scale = values("f8e8m0fnu", [[1, 2], [4, 0.5]])
    rhs_scale = values("f8e8m0fnu", [[2, 1, 1], [1, 0.25, 8]])
    text = dims_text(lhs_contracting_dims=[1], rhs_contracting_dims=[0])
    got = run(f"f32[2,3] scaled-dot(p0, p1, p2, p3), {text}", lhs, rhs, lhs_scale, rhs_scale)
    for i, j in np.ndindex(2, 3):
        terms = [
            float(lhs[i, k])
            * float(lhs_scale[i, k // 4])
            * float(rhs[k, j])
            * float(rhs_scale[k // 4, j])
            for k in range(8)
        ]
        assert got[i, j] == sum(terms)


def test_infinities_follow_ieee() -> None:
    lhs, rhs = values("f32", [[np.inf, 1], [1e38, 1e38]]), values("f32", [[0, 10], [1, 10]])
    text = dims_text(lhs_contracting_dims=[1], rhs_contracting_dims=[0])
    got = run(f"dot(p0, p1), {text}", lhs, rhs)
    assert compare(values("f32", [[np.nan, np.inf], [1e38, np.inf]]), got) is None
    assert ELEMENT_TYPES["f32"].dtype == got.dtype


@pytest.mark.parametrize("size", [1, 2, 3, 40])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_infinities_are_multiplied_by_the_definition(size: int, dtype: Any) -> None:
    """Whatever BLAS does after it has summed up, and whatever the size."""
    x = np.full((size, size), 1 + 1j, dtype)
    x[0, 0] = complex(np.inf, 0)
    y = np.full((size, size), 2 + 3j, dtype)
    got = run("dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}", x, y)
    assert (got[0] == complex(np.inf, np.inf)).all()
    assert np.isfinite(got[1:]).all()


CONVOLUTION = """HloModule m
ENTRY e {
  x = f32[40,5,2] parameter(0)
  k = f32[40,2,40] parameter(1)
  ROOT c = f32[40,3,2] convolution(x, k), window={size=2 rhs_dilate=2}, dim_labels=f0b_o0i->f0b
}"""
PRODUCT = """HloModule m
ENTRY e {
  x = f32[30,200] parameter(0)
  y = f32[200,7] parameter(1)
  ROOT d = f32[30,7] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""


@pytest.mark.parametrize("text", [CONVOLUTION, PRODUCT], ids=["convolution", "dot"])
def test_equal_values_have_an_equal_sum_wherever_they_lie(text: str) -> None:
    module, random = hlo.parse(text), np.random.default_rng(0)
    rows = [random.normal(size=p.shape.dims).astype(np.float32) for p in module.entry.parameters]
    columns = [np.asfortranarray(x) for x in rows]
    assert (evaluate(module, *rows) == evaluate(module, *columns)).all()
