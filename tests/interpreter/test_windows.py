"""Reduce-window and select-and-scatter: against loops over the places of the window."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import SIZES, binary, run, seeds, wholes, window, window_of
from single import values

from hlo.types.element_type import ARRAY_TYPES
from hlo.types.values import WindowDim
from interpreter.numbers.compare import compare

PYTHON: dict[str, Any] = {
    "add": lambda x, y: x + y,
    "multiply": lambda x, y: x * y,
    "maximum": max,
    "minimum": min,
}
DIMS = st.lists(
    st.tuples(
        SIZES,
        st.builds(
            WindowDim,
            size=st.integers(1, 5),
            stride=st.integers(1, 3),
            pad_low=st.integers(-1, 3),
            pad_high=st.integers(-1, 3),
            base_dilation=st.integers(1, 3),
            window_dilation=st.integers(1, 3),
        ),
    ),
    min_size=1,
    max_size=2,
)
PAIR = """
pair {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  x = f32[] parameter(2)
  y = f32[] parameter(3)
  two = f32[] constant(2)
  double = f32[] multiply(a, two)
  first = f32[] add(double, x)
  second = f32[] maximum(b, y)
  ROOT r = (f32[], f32[]) tuple(first, second)
}
"""
GREATER_OR_EQUAL = """
select {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = pred[] compare(x, y), direction=GE
}
"""


def shown(place: tuple[int, ...], sizes: list[int], dims: list[WindowDim]) -> Iterator[Any]:
    """The elements that the window shows at a place, in order."""
    for offset in product(*(range(w.size) for w in dims)):
        index: list[int] = []
        for p, o, n, w in zip(place, offset, sizes, dims, strict=True):
            at, hole = divmod(p * w.stride + o * w.window_dilation - w.pad_low, w.base_dilation)
            if hole or not 0 <= at < n:
                break
            index.append(at)
        else:
            yield tuple(index)


def usable(sizes: list[int], dims: list[WindowDim]) -> bool:
    """Padding may not crop more than there is."""
    return all(w.padded_extent(n) >= 0 for n, w in zip(sizes, dims, strict=True))


@given(DIMS, st.sampled_from(list(PYTHON)), seeds)
def test_reduce_window(drawn: list[tuple[int, WindowDim]], opcode: str, seed: int) -> None:
    sizes, dims = [n for n, _ in drawn], [w for _, w in drawn]
    if not usable(sizes, dims):
        return
    operand, initial = wholes(seed, sizes, -2, 3), wholes(seed + 1, ())
    text = f"reduce-window(p0, p1), {window_of(dims)}, to_apply={opcode}"
    got = run(text, operand, initial, computations=binary(opcode, "f32"))
    for place in np.ndindex(got.shape):
        want = float(initial)
        for index in shown(place, sizes, dims):
            want = PYTHON[opcode](want, float(operand[index]))
        assert got[place] == want


@given(DIMS, seeds)
def test_reduce_window_of_several_arrays(drawn: list[tuple[int, WindowDim]], seed: int) -> None:
    sizes, dims = [n for n, _ in drawn], [w for _, w in drawn]
    if not usable(sizes, dims):
        return
    x, y = wholes(seed, sizes), wholes(seed + 1, sizes)
    text = f"reduce-window(p0, p1, p2, p2), {window_of(dims)}, to_apply=pair"
    first, second = run(text, x, y, np.float32(1), computations=PAIR)
    for place in np.ndindex(first.shape):
        a, b = 1.0, 1.0
        for index in shown(place, sizes, dims):
            a, b = 2 * a + float(x[index]), max(b, float(y[index]))
        assert (float(np.float32(a)), b) == (first[place], second[place])


@pytest.mark.parametrize("name", [t.name for t in ARRAY_TYPES if t.kind != "complex"])
@pytest.mark.parametrize("opcode", ["maximum", "minimum", "add", "multiply"])
def test_padding_of_every_type_is_not_seen(name: str, opcode: str) -> None:
    row = values(name, [1, 0, 1])
    text = f"reduce-window(p0, p1), {window(size=[1], pad=[(0, 1)])}, to_apply={opcode}"
    computations = binary(opcode, name)
    got = run(text, row, row[0], computations=computations)
    want = [run(f"{opcode}(p0, p1)", row[0], x) for x in row] + [row[0]]
    assert compare(np.stack(want), got) is None


def test_signs_of_zeros_survive() -> None:
    row = np.array([-0.0, -0.0, 0.0], np.float32)
    text = f"reduce-window(p0, p1), {window(size=[2], pad=[(1, 0)])}, to_apply=add"
    got = run(text, row, row[0], computations=binary("add", "f32"))
    assert np.signbit(got).tolist() == [True, True, False]


@given(DIMS, seeds)
def test_select_and_scatter(drawn: list[tuple[int, WindowDim]], seed: int) -> None:
    # Neither base nor window is dilated in this opcode.
    sizes = [n for n, _ in drawn]
    dims = [WindowDim(w.size, w.stride, max(w.pad_low, 0), max(w.pad_high, 0)) for _, w in drawn]
    operand = wholes(seed, sizes, -2, 2)
    places = [w.positions(n) for n, w in zip(sizes, dims, strict=True)]
    source = wholes(seed + 1, places)
    text = f"select-and-scatter(p0, p1, p2), {window_of(dims)}, select=select, scatter=add"
    computations = GREATER_OR_EQUAL + binary("add", "f32")
    got = run(text, operand, source, np.float32(7), computations=computations)
    want = np.full(sizes, 7, np.float32)
    for place in np.ndindex(*places):
        best = None
        for index in shown(place, sizes, dims):
            if best is None or not operand[best] >= operand[index]:
                best = index
        if best is not None:
            want[best] += source[place]
    assert got.tolist() == want.tolist()
