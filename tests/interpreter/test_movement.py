"""Movement: every opcode against the formula that says where each element comes from."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import SIZES, listed, run, seeds, specials
from single import all_values, values

import hlo
import interpreter
from hlo.types.element_type import ARRAY_TYPES, ELEMENT_TYPES
from interpreter.numbers.compare import compare

NAMES = [t.name for t in ARRAY_TYPES]
DIMS = st.lists(SIZES, min_size=1, max_size=3)
SPACING = st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(0, 2))


def assert_same(got: Any, want: Any) -> None:
    """Equal to the bit; the two zeros differ."""
    assert compare(np.asarray(want), got) is None


@given(DIMS, st.data(), seeds)
def test_pad(dims: list[int], data: st.DataObject, seed: int) -> None:
    operand, value = specials(seed, dims), specials(seed + 1, ())
    spacing = [data.draw(SPACING) for _ in dims]
    sizes = [
        low + high + n + max(n - 1, 0) * interior
        for n, (low, high, interior) in zip(dims, spacing, strict=True)
    ]
    if min(sizes) < 0:
        return
    want = np.full(sizes, value)
    for index in np.ndindex(*dims):
        place = tuple(
            low + i * (interior + 1) for i, (low, _, interior) in zip(index, spacing, strict=True)
        )
        if all(0 <= p < n for p, n in zip(place, sizes, strict=True)):
            want[place] = operand[index]
    text = "x".join(f"{low}_{high}_{interior}" for low, high, interior in spacing)
    assert_same(run(f"pad(p0, p1), padding={text}", operand, value), want)


@given(DIMS, st.permutations(range(3)), seeds)
def test_transpose(dims: list[int], order: list[int], seed: int) -> None:
    order = [d for d in order if d < len(dims)]
    operand = specials(seed, dims)
    got = run(f"transpose(p0), dimensions={listed(order)}", operand)
    for index in np.ndindex(got.shape):
        source = [0] * len(dims)
        for place, d in enumerate(order):
            source[d] = index[place]
        assert_same(got[index], operand[tuple(source)])


@given(DIMS, st.permutations(range(4)), seeds)
def test_broadcast(dims: list[int], places: list[int], seed: int) -> None:
    places = places[: len(dims)]
    operand = specials(seed, dims)
    result = [2, 3, 1, 2]
    for n, place in zip(dims, places, strict=True):
        result[place] = n
    text = f"f32[{','.join(map(str, result))}] broadcast(p0), dimensions={listed(places)}"
    got = run(text, operand)
    for index in np.ndindex(got.shape):
        assert_same(got[index], operand[tuple(index[p] for p in places)])


@given(DIMS, st.data(), seeds)
def test_slice_and_reverse(dims: list[int], data: st.DataObject, seed: int) -> None:
    operand = specials(seed, dims)
    starts = [data.draw(st.integers(0, n)) for n in dims]
    limits = [data.draw(st.integers(s, n)) for s, n in zip(starts, dims, strict=True)]
    strides = [data.draw(st.integers(1, 3)) for _ in dims]
    parts = zip(starts, limits, strides, strict=True)
    text = "{" + ",".join(f"[{start}:{limit}:{stride}]" for start, limit, stride in parts) + "}"
    got = run(f"slice(p0), slice={text}", operand)
    for index in np.ndindex(got.shape):
        source = tuple(s + i * t for s, i, t in zip(starts, index, strides, strict=True))
        assert_same(got[index], operand[source])
    flipped = run("reverse(p0), dimensions={0}", operand)
    for index in np.ndindex(*dims):
        assert_same(flipped[index], operand[(dims[0] - 1 - index[0], *index[1:])])


@given(DIMS, st.data(), seeds)
def test_concatenate(dims: list[int], data: st.DataObject, seed: int) -> None:
    axis = data.draw(st.integers(0, len(dims) - 1))
    sizes = data.draw(st.lists(SIZES, min_size=1, max_size=3))
    parts = [specials(seed + n, [*dims[:axis], n, *dims[axis + 1 :]]) for n in sizes]
    names = ", ".join(f"p{i}" for i in range(len(parts)))
    got = run(f"concatenate({names}), dimensions={{{axis}}}", *parts)
    first = 0
    for part in parts:
        for index in np.ndindex(part.shape):
            place = (*index[:axis], first + index[axis], *index[axis + 1 :])
            assert_same(got[place], part[index])
        first += part.shape[axis]


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.data(),
    st.sampled_from(["s32", "u64", "s8"]),
    st.booleans(),
)
def test_dynamic_slices_clamp(
    dims: list[int], data: st.DataObject, index_type: str, as_vector: bool
) -> None:
    operand = np.arange(np.prod(dims), dtype=np.float32).reshape(dims)
    sizes = [data.draw(st.integers(0, n)) for n in dims]
    numbers = [data.draw(st.sampled_from([-100, -1, 0, 1, 2, 3, 100])) for _ in dims]
    if index_type == "u64":
        numbers = [n % 2**64 for n in numbers]
    starts = [min(max(i, 0), n - s) for i, n, s in zip(numbers, dims, sizes, strict=True)]
    indices = [values(index_type, n) for n in numbers]
    if as_vector:
        indices = [values(index_type, numbers)]
    names = [f"p{i}" for i in range(2 + len(indices))]
    text = f"dynamic-slice({', '.join([names[0], *names[1:-1]])})"
    got = run(f"{text}, dynamic_slice_sizes={listed(sizes)}", operand, *indices)
    places = tuple(slice(s, s + n) for s, n in zip(starts, sizes, strict=True))
    assert_same(got, operand[places])
    want = operand.copy()
    want[places] = -1
    update = np.full(sizes, -1, np.float32)
    before = operand.copy()
    assert_same(run(f"dynamic-update-slice({', '.join(names)})", operand, update, *indices), want)
    assert_same(operand, before)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "pred"])
def test_iota_of_every_type(name: str) -> None:
    got = run(f"{name}[2,20] iota(), iota_dimension=1")
    wanted = values(name, list(range(20)))
    assert got.tobytes() == np.stack([wanted, wanted]).tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_every_type_is_moved_bit_by_bit(name: str) -> None:
    target = ELEMENT_TYPES[name]
    row = all_values(name) if target.bits <= 8 and name != "pred" else values(name, [0, 1, 1, 0])
    n = len(row)
    double = run("concatenate(p0, p0), dimensions={0}", row)
    back = run(f"slice(p0), slice={{[{n}:{2 * n}]}}", double)
    matrix = run(f"{name}[2,{n // 2}] reshape(p0)", back)
    turned = run("transpose(p0), dimensions={1,0}", matrix)
    spaced = run("pad(p0, p1), padding=1_1_1x0_0", turned, row[0])
    got = run("copy(p0)", spaced[1:-1:2].T.reshape(-1))
    assert got.tobytes() == row.tobytes()


def test_movement_keeps_run_time_sizes() -> None:
    text = """
    HloModule m
    ENTRY e {
      x = s32[6] iota(), iota_dimension=0
      n = s32[] parameter(0)
      short = s32[<=6] set-dimension-size(x, n), dimensions={0}
      matrix = s32[<=6,2] broadcast(short), dimensions={0}
      flat = s32[<=12] reshape(matrix)
      twice = s32[<=24] concatenate(flat, flat), dimensions={0}
      ROOT r = s32[<=24] reverse(twice), dimensions={0}
    }"""
    got = interpreter.evaluate(hlo.parse(text), np.int32(3))
    assert got.tolist() == [2, 2, 1, 1, 0, 0] * 2


def test_iota_without_elements_takes_no_memory():
    module = hlo.parse("ENTRY e { ROOT i = f32[1000000000000,0] iota(), iota_dimension=0 }")
    assert interpreter.evaluate(module).shape == (10**12, 0)
