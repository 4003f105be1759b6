"""Shapes of the products of arrays: batch dimensions, then the free ones of each operand.

The element type may be chosen: `s32[..] dot(s8[..], s8[..])`. Without a choice it is the operands'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.infer.checks import (
    bad_value,
    dynamic_flags,
    expect_array,
    expect_dimensions,
    expect_kinds,
    expect_rank,
    higher_type,
    show,
    sizes_agree,
)
from hlo.infer.table import infers
from hlo.infer.window import expect_window, window_positions
from hlo.types.shape import UNBOUNDED, Shape, array
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hlo import attributes as a
    from hlo.instruction import Instruction
    from hlo.types.values import ConvDims, Sparsity


def _expect_roles(attrs: a.DotDims, lhs: Shape, rhs: Shape) -> None:
    """Batch and contracting dimensions come in pairs of the same size."""
    expect_array(lhs, rhs)
    for side, shape, batch, contracting in (
        ("lhs", lhs, attrs.lhs_batch_dims, attrs.lhs_contracting_dims),
        ("rhs", rhs, attrs.rhs_batch_dims, attrs.rhs_contracting_dims),
    ):
        name = f"{side}_batch_dims and {side}_contracting_dims"
        expect_dimensions(name, (*batch, *contracting), shape.rank)
    for role, left, right in (
        ("batch", attrs.lhs_batch_dims, attrs.rhs_batch_dims),
        ("contracting", attrs.lhs_contracting_dims, attrs.rhs_contracting_dims),
    ):
        if len(left) != len(right):
            raise HloError("HLO028", f"{len(left)} {role} dimensions of lhs, {len(right)} of rhs")
        for i, j in zip(left, right, strict=True):
            if not sizes_agree(lhs.dims[i], rhs.dims[j]):
                raise HloError(
                    "HLO029",
                    f"{role} dimension {i} of {show(lhs)} and {j} of {show(rhs)} differ in size",
                )


def _free(rank: int, *taken: Iterable[int]) -> list[int]:
    """The dimensions that have no role yet."""
    roles = {dim for dims in taken for dim in dims}
    return [i for i in range(rank) if i not in roles]


def _joined(*parts: tuple[Shape, Iterable[int]]) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """Sizes and dynamic flags of chosen dimensions of several shapes, one after the other."""
    chosen = [(shape, i) for shape, dims in parts for i in dims]
    return (
        tuple(shape.dims[i] for shape, i in chosen),
        tuple(shape.dynamic_at(i) for shape, i in chosen),
    )


@infers("dot", xla="ShapeInference::InferDotOpShape")
def infer_dot(_instr: Instruction, attrs: a.DotDims, lhs: Shape, rhs: Shape) -> Shape:
    """Batch dimensions, free dimensions of lhs, free dimensions of rhs."""
    _expect_roles(attrs, lhs, rhs)
    dims, dynamic = _joined(
        (lhs, attrs.lhs_batch_dims),
        (lhs, _free(lhs.rank, attrs.lhs_batch_dims, attrs.lhs_contracting_dims)),
        (rhs, _free(rhs.rank, attrs.rhs_batch_dims, attrs.rhs_contracting_dims)),
    )
    return array(higher_type(lhs, rhs), dims, dynamic)


@infers("scaled-dot", xla="ShapeVerifier::HandleScaledDot")
def infer_scaled_dot(
    instr: Instruction, attrs: a.DotDims, lhs: Shape, rhs: Shape, lhs_scale: Shape, rhs_scale: Shape
) -> Shape:
    """The shape of a dot; a scale is one number, or its sizes divide those of its operand."""
    if not lhs_scale.dims and not rhs_scale.dims:
        raise HloError(
            "HLO028", "neither scale has dimensions", notes=["without scales, write dot"]
        )
    for operand, scale in ((lhs, lhs_scale), (rhs, rhs_scale)):
        expect_array(scale)
        if scale.rank == 0:
            continue
        expect_rank(scale, operand.rank, "a scale")
        for n, m in zip(operand.dims, scale.dims, strict=True):
            if UNBOUNDED not in (m, n) and (m == 0 or n % m):
                raise HloError(
                    "HLO029", f"a scale of {show(scale)} does not divide {show(operand)}"
                )
    return infer_dot(instr, attrs, lhs, rhs)


@infers("ragged-dot", xla="ShapeInference::InferRaggedDotOpShape")
def infer_ragged_dot(
    _instr: Instruction, attrs: a.RaggedDotDims, lhs: Shape, rhs: Shape, group_sizes: Shape
) -> Shape:
    """The shape of a dot; where a free dimension is ragged, rhs has one of groups, too.

    Where a contracting dimension is ragged, the groups are the result's first dimension; where a
    batch dimension is, groups make no difference.
    """
    _expect_roles(attrs, lhs, rhs)
    expect_kinds(group_sizes, "signed", "unsigned")
    if group_sizes.rank < 1 or len(attrs.lhs_ragged_dims) != 1:
        raise HloError("HLO028", "takes group sizes of at least 1 dimension, and 1 ragged one")
    (ragged,) = attrs.lhs_ragged_dims
    expect_dimensions("lhs_ragged_dims", attrs.lhs_ragged_dims, lhs.rank)
    lhs_free = _free(lhs.rank, attrs.lhs_batch_dims, attrs.lhs_contracting_dims)
    expect_dimensions(
        "rhs_group_dims and other roles",
        (*attrs.rhs_group_dims, *attrs.rhs_batch_dims, *attrs.rhs_contracting_dims),
        rhs.rank,
    )
    if len(attrs.rhs_group_dims) != (ragged in lhs_free):
        bad_value(
            "rhs_group_dims",
            list(attrs.rhs_group_dims),
            "one dimension if a free dimension of lhs is ragged, else none",
        )
    groups = group_sizes.dims[-1]
    for dim in attrs.rhs_group_dims:
        if not sizes_agree(rhs.dims[dim], groups):
            raise HloError("HLO029", f"{groups} group sizes, but {rhs.dims[dim]} groups in rhs")
    dims, dynamic = _joined(
        (lhs, attrs.lhs_batch_dims),
        (lhs, lhs_free),
        (
            rhs,
            _free(rhs.rank, attrs.rhs_batch_dims, attrs.rhs_contracting_dims, attrs.rhs_group_dims),
        ),
    )
    if ragged in attrs.lhs_contracting_dims:
        dims, dynamic = (groups, *dims), (False, *dynamic)
    return array(higher_type(lhs, rhs), dims, dynamic)


@infers("convolution", xla="ShapeInference::InferConvolveShape")
def infer_convolution(_instr: Instruction, attrs: a.Convolution, lhs: Shape, rhs: Shape) -> Shape:
    """Batch, output features and a size for each spatial dimension, placed by `dim_labels`.

    Batch is that of lhs divided by `batch_group_count`, features are the output features of rhs,
    and a spatial dimension has as many elements as its window has positions.
    """
    sparsity = attrs.sparsity_config
    if sparsity is not None:
        lhs, rhs = _dense(lhs, sparsity.lhs), _dense(rhs, sparsity.rhs)
    labels = attrs.dim_labels
    rank = len(labels.input_spatial) + 2
    expect_rank(lhs, rank + len(labels.unknown_input), "the input")
    expect_rank(rhs, rank + len(labels.unknown_kernel), "the kernel")
    expect_window(attrs.window, rank - 2)
    _expect_labels(labels)
    _expect_groups(attrs, lhs, rhs)
    for k, dim in enumerate(attrs.window):
        if not sizes_agree(dim.size, rhs.dims[labels.kernel_spatial[k]]):
            raise HloError(
                "HLO038",
                f"the window has size {dim.size} in spatial dimension {k}, "
                f"the kernel {rhs.dims[labels.kernel_spatial[k]]}",
            )
    batch = lhs.dims[labels.input_batch]
    sizes = [0] * rank
    dynamic = [False] * rank
    sizes[labels.output_batch] = (
        UNBOUNDED if batch == UNBOUNDED else batch // attrs.batch_group_count
    )
    dynamic[labels.output_batch] = lhs.dynamic_at(labels.input_batch)
    sizes[labels.output_feature] = rhs.dims[labels.kernel_output_feature]
    dynamic[labels.output_feature] = rhs.dynamic_at(labels.kernel_output_feature)
    spatial = tuple(lhs.dims[i] for i in labels.input_spatial)
    flags = dynamic_flags(lhs)
    for k, size in enumerate(window_positions(attrs.window, spatial)):
        sizes[labels.output_spatial[k]] = size
        dynamic[labels.output_spatial[k]] = flags[labels.input_spatial[k]]
    return array(higher_type(lhs, rhs), tuple(sizes), tuple(dynamic))


def _dense(operand: Shape, sparsity: Sparsity | None) -> Shape:
    """The array that (kept values, their indices) stands for: n of every m elements are kept."""
    if sparsity is None or operand.is_array:
        return operand
    if len(operand.elements) != 2 or not operand.elements[0].is_array:
        raise HloError("HLO025", f"a sparse operand is (values, indices), not {show(operand)}")
    values, dim = operand.elements[0], sparsity.dimension
    expect_dimensions("sparsity_config", [dim], values.rank)
    size = values.dims[dim] * sparsity.m // max(sparsity.n, 1)
    return array(values.element_type, (*values.dims[:dim], size, *values.dims[dim + 1 :]))


def _expect_labels(labels: ConvDims) -> None:
    """Every dimension of input, kernel and output has one role."""
    rank = len(labels.input_spatial) + 2
    for name, dims, unknown in (
        (
            "input",
            (labels.input_batch, labels.input_feature, *labels.input_spatial),
            labels.unknown_input,
        ),
        (
            "kernel",
            (
                labels.kernel_input_feature,
                labels.kernel_output_feature,
                *labels.kernel_spatial,
            ),
            labels.unknown_kernel,
        ),
        (
            "output",
            (labels.output_batch, labels.output_feature, *labels.output_spatial),
            labels.unknown_output,
        ),
    ):
        if len(dims) != rank:
            raise HloError("HLO028", f"dim_labels: {counted(len(dims), 'dimension')} of the {name}")
        expect_dimensions(f"dim_labels of the {name}", dims, rank + len(unknown))


def _expect_groups(attrs: a.Convolution, lhs: Shape, rhs: Shape) -> None:
    """Features and batch divide evenly into their groups."""
    labels = attrs.dim_labels
    groups, batch_groups = attrs.feature_group_count, attrs.batch_group_count
    if groups < 1 or batch_groups < 1:
        bad_value("feature_group_count or batch_group_count", min(groups, batch_groups), "positive")
    if groups > 1 and batch_groups > 1:
        raise HloError("HLO038", "only one of feature and batch can be split into groups")
    features, batch = lhs.dims[labels.input_feature], lhs.dims[labels.input_batch]
    inputs = rhs.dims[labels.kernel_input_feature]
    outputs = rhs.dims[labels.kernel_output_feature]
    if UNBOUNDED not in (features, inputs) and features != inputs * groups:
        raise HloError(
            "HLO038",
            f"{features} input features, but the kernel has {inputs} "
            f"for each of {counted(groups, 'group')}",
        )
    if outputs != UNBOUNDED and (outputs % groups or outputs % batch_groups):
        raise HloError(
            "HLO038", f"{outputs} output features do not divide into {max(groups, batch_groups)}"
        )
    if batch != UNBOUNDED and batch % batch_groups:
        raise HloError("HLO038", f"a batch of {batch} does not divide into {batch_groups} groups")
