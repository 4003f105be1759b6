"""Batched forms of products, reductions and windows.

A product with one operand that all examples share stays one product: the batch is one more free
dimension of the other operand. A convolution has the batch among its images, or among its output
features; where both operands are batched, examples are groups of features.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.types.values import WindowDim
from interpreter.custom_calls.lapack_names import SIGNATURES, ffi_targets
from optimizer.batching.one_by_one import one_by_one
from optimizer.batching.table import Batch, Flags, after, batches, refusal, remade
from optimizer.derivative.contraction import axis_into, split_axis
from optimizer.expanders.apply import applied, is_elementwise
from optimizer.expanders.parts import number, permuted, spread
from optimizer.reducers import identity_of
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction

# Routines that take any number of matrices.
NATURAL = frozenset(target for routine in SIGNATURES for target in ffi_targets(routine))


@batches("dot")
def dot(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """One more batch dimension, or one more free one, which is moved to the front."""
    if len(operands) != 2:
        raise refusal(instr, "its operands are sparse")
    attrs, ((left,), (right,)) = a.DotDims.of(instr), flags
    changes = {
        "lhs_batch_dims": after(attrs.lhs_batch_dims) if left else attrs.lhs_batch_dims,
        "rhs_batch_dims": after(attrs.rhs_batch_dims) if right else attrs.rhs_batch_dims,
        "lhs_contracting_dims": (
            after(attrs.lhs_contracting_dims) if left else attrs.lhs_contracting_dims
        ),
        "rhs_contracting_dims": (
            after(attrs.rhs_contracting_dims) if right else attrs.rhs_contracting_dims
        ),
    }
    if left and right:
        changes["lhs_batch_dims"] = (0, *changes["lhs_batch_dims"])
        changes["rhs_batch_dims"] = (0, *changes["rhs_batch_dims"])
        return remade(batch, instr, operands, **changes)
    first = len(attrs.lhs_batch_dims)
    free = instr.operands[0].shape.rank - first - len(attrs.lhs_contracting_dims)
    at = first if left else first + free
    dims = list(instr.shape.dims)
    dims.insert(at, batch.size)
    product = remade(batch, instr, operands, **changes)
    return to_front(product.with_(shape=product.shape.with_dims(tuple(dims))), at)


def to_front(x: Instruction, at: int) -> Instruction:
    """A dimension moved to the front."""
    return permuted(x, [at, *(d for d in range(x.shape.rank) if d != at)])


@batches("convolution")
def convolution(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """The batch is joined with the images, or with the features that groups keep apart.

    References
    ----------
    JAX, `_conv_general_dilated_batch_rule`.
    """
    attrs, ((of_images,), (of_kernel,)) = a.Convolution.of(instr), flags
    dims, (images, kernel), n = attrs.dim_labels, operands, batch.size
    groups = attrs.feature_group_count * attrs.batch_group_count
    outputs = dims.kernel_output_feature
    if of_images and of_kernel:
        by_batch = attrs.batch_group_count > 1
        images = axis_into(0, dims.input_batch if by_batch else dims.input_feature, images)
        kernel = axis_into(0, outputs, kernel)
        name = "batch_group_count" if by_batch else "feature_group_count"
        convolved = joined(instr, images, kernel, dims.output_feature, n, {name: n * groups})
        return to_front(split_axis(dims.output_feature, n, convolved), dims.output_feature)
    if of_images:
        # Groups of the batch stay outermost.
        images = inside(images, dims.input_batch, attrs.batch_group_count)
        convolved = joined(instr, images, kernel, dims.output_batch, n, {})
        return to_front(split_axis(dims.output_batch, n, convolved), dims.output_batch)
    kernel = inside(kernel, outputs, groups)
    at = dims.output_feature
    convolved = split_axis(at, groups, joined(instr, images, kernel, at, n, {}))
    convolved = to_front(split_axis(at + 1, n, convolved), at + 1)
    shape = (n, *instr.shape.dims)
    return make("reshape", convolved, shape=convolved.shape.with_dims(shape))


def inside(x: Instruction, axis: int, groups: int) -> Instruction:
    """A batched array whose batch is joined with a dimension, inside of its groups."""
    if groups == 1:
        return axis_into(0, axis, x)
    # (n, ..., groups, rest, ...) => (..., groups, n * rest, ...)
    return joined_groups(split_axis(axis + 1, groups, x), axis)


def joined_groups(x: Instruction, axis: int) -> Instruction:
    """The first dimension joined with the one after a dimension of groups, and these with both."""
    moved = axis_into(0, axis + 1, x)
    dims = moved.shape.dims
    merged = (*dims[:axis], dims[axis] * dims[axis + 1], *dims[axis + 2 :])
    return make("reshape", moved, shape=moved.shape.with_dims(merged))


def joined(
    instr: Instruction,
    images: Instruction,
    kernel: Instruction,
    axis: int,
    size: int,
    changes: dict[str, int],
) -> Instruction:
    """The convolution with a dimension of the result that holds all examples."""
    attrs = a.Convolution.of(instr)
    dims = list(instr.shape.dims)
    dims[axis] *= size
    return make(
        "convolution",
        images,
        kernel,
        shape=instr.shape.with_dims(tuple(dims)),
        window=attrs.window,
        dim_labels=attrs.dim_labels,
        feature_group_count=changes.get("feature_group_count", attrs.feature_group_count),
        batch_group_count=changes.get("batch_group_count", attrs.batch_group_count),
        operand_precision=attrs.operand_precision,
        algorithm=attrs.algorithm,
    )


@batches("reduce")
def reduce(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """The same reduction of each example; where initial values differ, they come in last."""
    return with_initials(
        batch, instr, operands, flags, dimensions=after(a.Dimensions.of(instr).dimensions)
    )


@batches("reduce-window")
def reduce_window(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """Windows of one example."""
    window = (WindowDim(1), *a.Windowed.of(instr).window)
    if any(flag for (flag,) in flags[len(operands) // 2 :]):
        return one_by_one(batch, instr, operands, flags)
    return with_initials(batch, instr, operands, flags, window=window)


def with_initials(
    batch: Batch,
    instr: Instruction,
    operands: Sequence[Instruction],
    flags: Sequence[Flags],
    **changes: object,
) -> Instruction:
    """A reduction of batched arrays."""
    count, body = len(operands) // 2, instr.called[0]
    arrays = batch.all(operands[:count], flags[:count])
    if not any(flag for (flag,) in flags[count:]):
        return remade(batch, instr, (*arrays, *operands[count:]), **changes)
    kind = operands[0].shape.element_type
    identity = identity_of(body, kind) if count == 1 else None
    if identity is None or not is_elementwise(body):
        return one_by_one(batch, instr, operands, flags)
    reduced = remade(batch, instr, (*arrays, number(identity, kind)), **changes)
    first = spread(operands[1], reduced.shape.dims, (0,))
    return applied(body, [first, reduced])[0]


@batches("select-and-scatter")
def select_and_scatter(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """Windows of one example."""
    if flags[2][0]:
        return one_by_one(batch, instr, operands, flags)
    window = (WindowDim(1), *a.Windowed.of(instr).window)
    arrays = batch.all(operands[:2], flags[:2])
    return remade(batch, instr, (*arrays, operands[2]), window=window)


@batches("rng", "rng-bit-generator")
def of_each(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """Each example from its own state."""
    return one_by_one(batch, instr, operands, flags)


@batches("custom-call")
def custom_call(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """One call of a routine that takes many matrices; else a call for each example."""
    if a.CustomCall.of(instr).custom_call_target not in NATURAL:
        return one_by_one(batch, instr, operands, flags)
    changes = {"operand_layout_constraints": None, "output_to_operand_aliasing": ()}
    return remade(batch, instr, batch.all(operands, flags), **changes)
