"""Gather and scatter: against XLA's definition, written as loops over every element."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import binary, listed, run, seeds, wholes
from single import values

from hlo.types.element_type import ARRAY_TYPES

FIRST_THEN_DOUBLE = """
combine {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  x = f32[] parameter(2)
  y = f32[] parameter(3)
  two = f32[] constant(2)
  double = f32[] multiply(a, two)
  first = f32[] add(double, x)
  second = f32[] minimum(b, y)
  ROOT r = (f32[], f32[]) tuple(first, second)
}
"""
OVERWRITE = """
overwrite {
  x = f32[] parameter(0)
  ROOT y = f32[] parameter(1)
}
"""


@dataclass
class Case:
    """Dimension numbers of a gather; those of a scatter are the same ones by other names.

    An index vector's elements say where a window starts in the operand dimensions `index_map`;
    `batching` pairs operand dimensions with dimensions of the indices.
    """

    dims: list[int]
    sizes: list[int]
    collapsed: list[int]
    index_map: list[int]
    batching: list[tuple[int, int]]
    vector_dim: int
    indices: Any
    offset_dims: list[int]

    @property
    def batch(self) -> list[int]:
        return [n for d, n in enumerate(self.indices.shape) if d != self.vector_dim]

    @property
    def window_dims(self) -> list[int]:
        gone = [*self.collapsed, *(d for d, _ in self.batching)]
        return [d for d in range(len(self.dims)) if d not in gone]

    @property
    def result(self) -> list[int]:
        """Dimensions of a gather's result, or of a scatter's updates."""
        sizes = iter([self.sizes[d] for d in self.window_dims])
        batch = iter(self.batch)
        rank = len(self.batch) + len(self.window_dims)
        return [next(sizes) if d in self.offset_dims else next(batch) for d in range(rank)]

    def split(self, index: tuple[int, ...]) -> tuple[list[int], list[int]]:
        """The start of an element's window, and its place in the window, by operand dimension."""
        batch = [i for d, i in enumerate(index) if d not in self.offset_dims]
        start, offset = [0] * len(self.dims), [0] * len(self.dims)
        at: list[Any] = list(batch)
        if self.vector_dim < self.indices.ndim:
            at.insert(self.vector_dim, slice(None))
        for d, i in zip(self.index_map, np.ravel(self.indices[tuple(at)]).tolist(), strict=True):
            start[d] = i
        for d, indices_dim in self.batching:
            start[d] = batch[indices_dim - (indices_dim > self.vector_dim)]
        for d, place in zip(self.window_dims, self.offset_dims, strict=True):
            offset[d] = index[place]
        return start, offset


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rank = draw(st.integers(1, 4))
    dims = [draw(st.integers(1, 4)) for _ in range(rank)]
    order = draw(st.permutations(range(rank)))
    count = draw(st.integers(0, min(2, rank)))
    batching_dims, rest = sorted(order[:count]), order[count:]
    index_map = draw(st.permutations(rest))[: draw(st.integers(0, len(rest)))]
    sizes = [1 if d in batching_dims else draw(st.integers(1, n)) for d, n in enumerate(dims)]
    collapsed = [d for d in sorted(rest) if sizes[d] == 1 and draw(st.booleans())]
    batch_rank = count + draw(st.integers(0, 2))
    batch = [draw(st.integers(0, 3)) for _ in range(batch_rank)]
    partners = draw(st.permutations(range(batch_rank)))[:count]
    for d, partner in zip(batching_dims, partners, strict=True):
        batch[partner] = dims[d]
    vector_dim = draw(st.integers(0, batch_rank))
    shape = list(batch)
    if not (len(index_map) == 1 and vector_dim == batch_rank and draw(st.booleans())):
        shape.insert(vector_dim, len(index_map))
    numbers = np.random.default_rng(draw(seeds)).integers(-2, 6, shape)
    batching = [(d, p + (p >= vector_dim)) for d, p in zip(batching_dims, partners, strict=True)]
    windows = len([d for d in rest if d not in collapsed])
    offset_dims = sorted(draw(st.permutations(range(batch_rank + windows)))[:windows])
    indices = numbers.astype(np.int32)
    return Case(dims, sizes, collapsed, list(index_map), batching, vector_dim, indices, offset_dims)


@given(cases(), seeds)
def test_gather(case: Case, seed: int) -> None:
    operand = wholes(seed, case.dims, -99, 99)
    got = run(
        f"gather(p0, p1), offset_dims={listed(case.offset_dims)}, "
        f"collapsed_slice_dims={listed(case.collapsed)}, "
        f"start_index_map={listed(case.index_map)}, "
        f"operand_batching_dims={listed(d for d, _ in case.batching)}, "
        f"start_indices_batching_dims={listed(i for _, i in case.batching)}, "
        f"index_vector_dim={case.vector_dim}, slice_sizes={listed(case.sizes)}",
        operand,
        case.indices,
    )
    assert list(got.shape) == case.result
    for index in np.ndindex(got.shape):
        start, offset = case.split(index)
        clamped = [
            min(max(s, 0), n - w) for s, n, w in zip(start, case.dims, case.sizes, strict=True)
        ]
        assert got[index] == operand[tuple(np.add(clamped, offset))]


def scatter_text(case: Case, names: str, to_apply: str) -> str:
    return (
        f"scatter({names}), update_window_dims={listed(case.offset_dims)}, "
        f"inserted_window_dims={listed(case.collapsed)}, "
        f"scatter_dims_to_operand_dims={listed(case.index_map)}, "
        f"input_batching_dims={listed(d for d, _ in case.batching)}, "
        f"scatter_indices_batching_dims={listed(i for _, i in case.batching)}, "
        f"index_vector_dim={case.vector_dim}, to_apply={to_apply}"
    )


def landings(case: Case) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Where each element of the updates goes, in order; those of dropped windows go nowhere."""
    found = {}
    for index in np.ndindex(*case.result):
        start, offset = case.split(index)
        bounds = zip(start, case.dims, case.sizes, strict=True)
        if all(0 <= s <= n - w for s, n, w in bounds):
            found[index] = tuple(int(i) for i in np.add(start, offset))
    return found


@given(cases(), st.sampled_from(["add", "maximum", "overwrite"]), seeds)
def test_scatter(case: Case, opcode: str, seed: int) -> None:
    operand, updates = wholes(seed, case.dims), wholes(seed + 1, case.result)
    computations = OVERWRITE if opcode == "overwrite" else binary(opcode, "f32")
    text = scatter_text(case, "p0, p1, p2", opcode)
    got = run(text, operand, case.indices, updates, computations=computations)
    want = operand.copy()
    # Windows that overwrite each other do so in the order of the batch.
    batch_dims = [d for d in range(len(case.result)) if d not in case.offset_dims]
    for index, place in sorted(
        landings(case).items(), key=lambda item: [item[0][d] for d in batch_dims]
    ):
        new = updates[index]
        want[place] = {
            "add": want[place] + new,
            "maximum": max(want[place], new),
            "overwrite": new,
        }[opcode]
    assert got.tolist() == want.tolist()


@given(cases(), seeds)
def test_scatter_of_several_arrays(case: Case, seed: int) -> None:
    operands = [wholes(seed, case.dims), wholes(seed + 1, case.dims)]
    updates = [wholes(seed + 2, case.result), wholes(seed + 3, case.result)]
    text = scatter_text(case, "p0, p1, p2, p3, p4", "combine")
    got = run(text, *operands, case.indices, *updates, computations=FIRST_THEN_DOUBLE)
    first, second = (x.copy() for x in operands)
    batch_dims = [d for d in range(len(case.result)) if d not in case.offset_dims]
    for index, place in sorted(
        landings(case).items(), key=lambda item: [item[0][d] for d in batch_dims]
    ):
        first[place] = 2 * first[place] + updates[0][index]
        second[place] = min(second[place], updates[1][index])
    assert [g.tolist() for g in got] == [first.tolist(), second.tolist()]


@pytest.mark.parametrize("index_type", ["s8", "u8", "s64", "u64", "s4"])
def test_index_types(index_type: str) -> None:
    operand = np.arange(5, dtype=np.float32)
    far = {"u64": 2**64 - 1, "s64": 2**62, "s4": 7}.get(index_type, 100)
    indices = values(index_type, [1, far])
    text = (
        "gather(p0, p1), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
        "index_vector_dim=1, slice_sizes={1}"
    )
    assert run(text, operand, indices).tolist() == [1, 4]
    text = (
        "scatter(p0, p1, p2), update_window_dims={}, inserted_window_dims={0}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add"
    )
    got = run(text, operand, indices, operand[1:3], computations=binary("add", "f32"))
    assert got.tolist() == [0, 2, 2, 3, 4]


@pytest.mark.parametrize("name", [t.name for t in ARRAY_TYPES])
def test_scatter_of_every_type(name: str) -> None:
    """Each update is added to a number of the type: small floats are rounded every time."""
    operand, updates = values(name, [0, 1, 0]), values(name, [1] * 20)
    text = (
        "scatter(p0, p1, p2), update_window_dims={}, inserted_window_dims={0}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add"
    )
    indices = np.array([2, 0, *[2] * 18], np.int32)
    got = run(text, operand, indices, updates, computations=binary("add", name))
    want = operand.copy()
    for index, update in zip(indices, updates, strict=True):
        want[index] = run("add(p0, p1)", want[index], update)
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize(
    ("roles", "indexed"),
    [
        ("collapsed_slice_dims={0}", 0),
        ("operand_batching_dims={0}, start_indices_batching_dims={0}", 1),
    ],
)
def test_collapsed_slices_without_elements_give_zeros(roles: str, indexed: int) -> None:
    roles += "" if "collapsed" in roles else ", collapsed_slice_dims={}"
    got = run(
        f"gather(p0, p1), offset_dims={{1}}, {roles}, start_index_map={{{indexed}}}, "
        "index_vector_dim=1, slice_sizes={0,4}",
        np.ones((3, 4), np.float32),
        np.zeros((3, 1), np.int32),
    )
    assert got.tolist() == [[0] * 4] * 3
