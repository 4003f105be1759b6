"""Generators of opcodes that contract or fold dimensions and windows."""

from hypothesis import strategies as st
from strategies.ops.registry import folding, given, numbers, op
from strategies.values import dims, sizes

from hlo.build import Builder
from hlo.instruction import Instruction
from hlo.types.element_type import (
    BF16,
    F32,
    S32,
)
from hlo.types.shape import array
from hlo.types.values import ConvDims, WindowDim


@op("dot")
def dot(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    kind = draw(numbers)
    batch, rows, summed, columns = (draw(sizes) for _ in range(4))
    attrs = {"lhs_batch_dims": (0,), "rhs_batch_dims": (0,)}
    attrs |= {"lhs_contracting_dims": (2,), "rhs_contracting_dims": (1,)}
    operands = given(b, kind, batch, rows, summed), given(b, kind, batch, summed, columns)
    return b.add("dot", *operands, **attrs)


@op("ragged-dot")
def ragged_dot(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    rows, summed, columns, groups = draw(sizes), draw(sizes), draw(sizes), draw(st.integers(1, 3))
    operands = given(b, F32, rows, summed), given(b, F32, groups, summed, columns)
    attrs = {"lhs_contracting_dims": (1,), "rhs_contracting_dims": (1,)}
    attrs |= {"lhs_ragged_dims": (0,), "rhs_group_dims": (0,)}
    return b.add("ragged-dot", *operands, given(b, S32, groups), **attrs)


@op("scaled-dot")
def scaled_dot(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    rows, blocks, columns = (
        draw(st.integers(1, 3)),
        draw(st.integers(1, 2)),
        draw(st.integers(1, 3)),
    )
    operands = given(b, BF16, rows, 4 * blocks), given(b, BF16, columns, 4 * blocks)
    scales = given(b, BF16, rows, blocks), given(b, BF16, columns, blocks)
    attrs = {"lhs_contracting_dims": (1,), "rhs_contracting_dims": (1,)}
    shape = array(BF16, (rows, columns))
    return b.add("scaled-dot", *operands, *scales, shape=shape, **attrs)


@op("convolution")
def convolution(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    kind, batch = draw(numbers), draw(sizes)
    features, outputs = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    window = tuple(draw(windows()) for _ in range(2))
    roles = ConvDims(0, 3, (1, 2), 2, 3, (0, 1), 0, 3, (1, 2))
    image = given(b, kind, batch, 3, 4, features)
    kernel = given(b, kind, *(w.size for w in window), features, outputs)
    return b.add("convolution", image, kernel, window=window, dim_labels=roles)


@st.composite
def windows(draw: st.DrawFn) -> WindowDim:
    """How a window moves along a dimension; it fits at least once into 3 elements."""
    return WindowDim(
        draw(st.integers(1, 3)),
        draw(st.integers(1, 2)),
        draw(st.integers(0, 2)),
        draw(st.integers(0, 2)),
        draw(st.integers(1, 2)),
        draw(st.integers(1, 2)),
    )


@op("reduce")
def reduce(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    kinds = draw(st.lists(numbers, min_size=1, max_size=2))
    wanted = draw(dims())
    folded = sorted(draw(st.sets(st.sampled_from(range(len(wanted))))) if wanted else [])
    operands = [given(b, kind, *wanted) for kind in kinds] + [given(b, kind) for kind in kinds]
    called = [folding(b, "add", *kinds)]
    return b.add("reduce", *operands, called=called, dimensions=tuple(folded))


@op("reduce-window")
def reduce_window(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    kind = draw(st.sampled_from((S32, F32, BF16)))
    window = (draw(windows()),)
    called = [folding(b, draw(st.sampled_from(("add", "maximum"))), kind)]
    return b.add("reduce-window", given(b, kind, 3), given(b, kind), called=called, window=window)


@op("select-and-scatter")
def select_and_scatter(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    window = (WindowDim(draw(st.integers(1, 2)), draw(st.integers(1, 2))),)
    inner = Builder(b.names.unique("select"), b.names)
    x, y = given(inner, F32), given(inner, F32)
    select = inner.build(inner.add("compare", x, y, direction="GE"))
    operands = given(b, F32, 4), given(b, F32, window[0].positions(4)), given(b, F32)
    called = [select, folding(b, "add", F32)]
    return b.add("select-and-scatter", *operands, called=called, window=window)
