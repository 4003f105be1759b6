"""Sums, windows and products."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hlo.types.element_type import F32, F64, S32
from hlo.types.values import ConvDims, WindowDim
from tests.divisible.maker import FEW, Maker, makes

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@makes("reduce")
def _reduce(m: Maker, opcode: str) -> Instruction:
    kinds = [m.kind() for _ in range(m.random.choice((1, 1, 2, 3)))]
    by, dims = m.random.choice(("add", "add", "maximum", "minimum", "multiply")), m.dims()
    operands = [m.given(k, *dims) for k in kinds]
    initial = [m.initial(by, k) for k in kinds]
    folded = tuple(m.some(range(len(dims))))
    return m.b.add(opcode, *operands, *initial, called=[m.by(by, *kinds)], dimensions=folded)


@makes("reduce-window")
def _reduce_window(m: Maker, opcode: str) -> Instruction:
    kinds = [m.kind() for _ in range(m.random.choice((1, 1, 2)))]
    by, dims = m.random.choice(("add", "maximum", "minimum")), m.dims(1)
    operands = [m.given(k, *dims) for k in kinds]
    initial = [m.initial(by, k) for k in kinds]
    window = tuple(m.window(n) if m.chance(0.6) else WindowDim(1) for n in dims)
    return m.b.add(opcode, *operands, *initial, called=[m.by(by, *kinds)], window=window)


@makes("select-and-scatter")
def _select_and_scatter(m: Maker, opcode: str) -> Instruction:
    kind, dims = m.kind(S32, F32), m.dims(1)
    window = tuple(
        replace(m.window(n, holes=False), window_dilation=1) if m.chance(0.7) else WindowDim(1)
        for n in dims
    )
    source = tuple(w.positions(n) for w, n in zip(window, dims, strict=True))
    operands = m.given(kind, *dims), m.given(kind, *source), m.initial("add", kind)
    select = m.compared(m.random.choice(("GE", "LE", "GT")), kind)
    return m.b.add(opcode, *operands, called=[select, m.by("add", kind)], window=window)


@makes("dot")
def _dot(m: Maker, opcode: str) -> Instruction:
    kind, batch, summed = m.kind(S32, F32, F32, F64), m.dims(0, 1), m.dims(0, 2)
    attrs, operands = dict[str, Any](), list[Any]()
    for side in ("lhs", "rhs"):
        dims, (_, batches, contracting) = m.mixed(m.dims(0, 2), batch, summed)
        operands.append(m.given(kind, *dims))
        attrs |= {f"{side}_batch_dims": tuple(batches)}
        attrs |= {f"{side}_contracting_dims": tuple(contracting)}
    return m.b.add(opcode, *operands, **attrs)


@makes("convolution")
def _convolution(m: Maker, opcode: str) -> Instruction:
    """In one or two dimensions, with groups of features, of the batch, or without."""
    kind, spatial = m.kind(S32, F32), m.dims(1, 2)
    groups, batches = m.random.choice(((1, 1), (1, 1), (2, 1), (4, 1), (8, 1), (1, 2), (1, 4)))
    window = tuple(
        replace(m.window(n), reversal=m.chance(0.2)) if m.chance(0.8) else WindowDim(1)
        for n in spatial
    )
    features, batch = m.random.choice((1, 2, 3, 4)), m.random.choice(FEW) * batches
    outputs = m.random.choice((1, 2, 3, 4)) * groups * batches
    image, ((ib,), (i_f,), i_s) = m.mixed((batch,), (features * groups,), spatial)
    sizes = tuple(w.size for w in window)
    kernel, ((ki,), (ko,), ks) = m.mixed((features,), (outputs,), sizes)
    _, ((ob,), (of,), os) = m.mixed((1,), (1,), spatial)
    labels = ConvDims(ib, i_f, tuple(i_s), ki, ko, tuple(ks), ob, of, tuple(os))
    return m.b.add(
        opcode, m.given(kind, *image), m.given(kind, *kernel), window=window, dim_labels=labels,
        feature_group_count=groups, batch_group_count=batches,
    )  # fmt: skip


@makes("ragged-dot")
def _ragged_dot(m: Maker, opcode: str) -> Instruction:
    rows, summed, columns, groups = (m.size() for _ in range(4))
    operands = m.given(F32, rows, summed), m.given(F32, groups, summed, columns)
    return m.b.add(
        opcode, *operands, m.given(S32, groups), lhs_contracting_dims=(1,),
        rhs_contracting_dims=(1,), lhs_ragged_dims=(0,), rhs_group_dims=(0,),
    )  # fmt: skip
