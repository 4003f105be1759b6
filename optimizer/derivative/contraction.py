"""Derivatives of products: dot and convolution are linear in each operand.

    y = dot(x, w)       x^ = dot(y^, w) over the dimensions that only w and y have
    y = conv(x, w)      x^ = conv of y^, dilated by the stride, with the reversed kernel
                        w^ = conv of x with y^ as the kernel, the batch as input features

References
----------
JAX, `_dot_general_transpose_lhs` in `jax/_src/lax/lax.py`, and `_conv_general_dilated_transpose_*`
in `jax/_src/lax/convolution.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.types.values import ConvDims, WindowDim
from optimizer.derivative.elementwise import sum_of
from optimizer.derivative.table import (
    Leaves,
    again,
    differentiates,
    refusal,
    transposes,
    zeros,
)
from optimizer.dimensions import inverse
from optimizer.expanders.parts import permuted, to_dims, to_type
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction


@differentiates("dot", "convolution")
def product_rule(instr: Instruction, tangents: Sequence[Leaves]) -> Instruction | None:
    """The product rule: dx w + x dw."""
    if len(instr.operands) != 2 or any(o.shape.is_tuple for o in instr.operands):
        raise refusal(instr, "its operands are sparse")
    (x, w), ((dx,), (dw,)) = instr.operands, tangents
    terms = [again(instr, dx, w)] if dx is not None else []
    terms += [again(instr, x, dw)] if dw is not None else []
    return sum_of(terms)


@transposes("dot")
def dot_back(
    instr: Instruction, cotangents: Leaves, linear: Sequence[bool]
) -> list[Instruction | None]:
    """A dot of the cotangent and the other operand."""
    (ct,) = cotangents
    assert ct is not None
    return [dot_of_cotangent(instr, ct, k) if linear[k] else None for k in (0, 1)]


def dot_of_cotangent(instr: Instruction, ct: Instruction, k: int) -> Instruction:
    """The cotangent of operand k of a dot.

    The result has the batch, then what k has free, then what the other one has contracted; it is
    transposed into the order of k's dimensions.
    """
    attrs = a.DotDims.of(instr)
    sides = (
        (attrs.lhs_batch_dims, attrs.lhs_contracting_dims),
        (attrs.rhs_batch_dims, attrs.rhs_contracting_dims),
    )
    (batch, contracted), (other_batch, other_contracted) = sides[k], sides[1 - k]
    x, other = instr.operands[k], instr.operands[1 - k]
    free = [d for d in range(x.shape.rank) if d not in (*batch, *contracted)]
    taken = (*other_batch, *other_contracted)
    other_free = tuple(d for d in range(other.shape.rank) if d not in taken)
    first = len(batch) + (len(free) if k == 0 else 0)
    summed = tuple(range(first, first + len(other_free)))
    product = make(
        "dot",
        ct,
        to_type(other, ct.shape.element_type),
        lhs_batch_dims=tuple(range(len(batch))),
        lhs_contracting_dims=summed,
        rhs_batch_dims=other_batch,
        rhs_contracting_dims=other_free,
        operand_precision=attrs.operand_precision,
        algorithm=attrs.algorithm,
    )
    # The contracted dimensions come in the order in which the other operand has them.
    pairs = sorted(zip(other_contracted, contracted, strict=True))
    order = [*batch, *free, *(mine for _, mine in pairs)]
    return to_type(permuted(product, inverse(order)), x.shape.element_type)


@transposes("convolution")
def convolution_back(
    instr: Instruction, cotangents: Leaves, linear: Sequence[bool]
) -> list[Instruction | None]:
    """A convolution of the cotangent and the other operand."""
    (ct,) = cotangents
    assert ct is not None
    if not all(x.shape.size for x in (ct, *instr.operands)):
        return [zeros(x.shape) for x in instr.operands]
    return [
        images_back(instr, ct) if linear[0] else None,
        kernel_back(instr, ct) if linear[1] else None,
    ]


def images_back(instr: Instruction, ct: Instruction) -> Instruction:
    """The cotangent of a convolution's images.

    Groups of features are groups again, of the kernel's other feature dimension; groups of the
    batch become groups of features.
    """
    attrs, (images, kernel) = a.Convolution.of(instr), instr.operands
    dims, groups = attrs.dim_labels, attrs.feature_group_count * attrs.batch_group_count
    outputs, inputs = dims.kernel_output_feature, dims.kernel_input_feature
    if groups > 1:
        kernel = axis_into(outputs, inputs, split_axis(outputs, groups, kernel))
    if dims.kernel_spatial:
        kernel = make("reverse", kernel, dimensions=dims.kernel_spatial)
    window = tuple(
        WindowDim(
            w.size,
            stride=w.base_dilation,
            pad_low=low,
            pad_high=high,
            base_dilation=w.stride,
            window_dilation=w.window_dilation,
        )
        for w, (low, high) in zip(
            attrs.window, paddings_back(attrs.window, images, dims.input_spatial), strict=True
        )
    )
    labels = ConvDims(
        *(dims.output_batch, dims.output_feature, dims.output_spatial),
        *(outputs, inputs, dims.kernel_spatial),
        *(dims.input_batch, dims.input_feature, dims.input_spatial),
    )
    images_gradient = convolved(instr, ct, kernel, window, labels, (groups, 1))
    if attrs.batch_group_count > 1:
        split = split_axis(dims.input_feature, groups, images_gradient)
        images_gradient = axis_into(dims.input_feature, dims.input_batch, split)
    return to_type(images_gradient, images.shape.element_type)


def paddings_back(
    window: Sequence[WindowDim], images: Instruction, spatial: Sequence[int]
) -> list[tuple[int, int]]:
    """The padding of a cotangent, so that each element meets the windows that contained it.

    Parameters
    ----------
    spatial : the dimensions of the images along which the window moves.
    """
    paddings: list[tuple[int, int]] = []
    for w, d in zip(window, spatial, strict=True):
        n = images.shape.dims[d]
        low = w.dilated_size - w.pad_low - 1
        whole = dilated(n, w.base_dilation) + w.dilated_size - 1
        paddings.append((low, whole - dilated(w.positions(n), w.stride) - low))
    return paddings


def kernel_back(instr: Instruction, ct: Instruction) -> Instruction:
    """The cotangent of a convolution's kernel: the cotangent is moved over the images."""
    attrs, (images, kernel) = a.Convolution.of(instr), instr.operands
    dims = attrs.dim_labels
    window: list[WindowDim] = []
    for w, d in zip(attrs.window, dims.input_spatial, strict=True):
        n = images.shape.dims[d]
        positions = w.positions(n)
        rest = dilated(positions, w.stride) - dilated(n, w.base_dilation)
        window.append(
            WindowDim(
                positions,
                stride=w.window_dilation,
                pad_low=w.pad_low,
                pad_high=rest + w.dilated_size - w.pad_low - 1,
                base_dilation=w.base_dilation,
                window_dilation=w.stride,
            )
        )
    labels = ConvDims(
        *(dims.input_feature, dims.input_batch, dims.input_spatial),
        *(dims.output_batch, dims.output_feature, dims.output_spatial),
        *(dims.kernel_input_feature, dims.kernel_output_feature, dims.kernel_spatial),
    )
    groups = attrs.batch_group_count, attrs.feature_group_count
    images = to_type(images, ct.shape.element_type)
    kernel_gradient = convolved(instr, images, ct, tuple(window), labels, groups)
    return to_type(kernel_gradient, kernel.shape.element_type)


def convolved(
    instr: Instruction,
    images: Instruction,
    kernel: Instruction,
    window: tuple[WindowDim, ...],
    labels: ConvDims,
    groups: tuple[int, int],
) -> Instruction:
    """A convolution with the precision of another one.

    Parameters
    ----------
    groups : of features, of the batch.
    """
    attrs = a.Convolution.of(instr)
    return make(
        "convolution",
        images,
        to_type(kernel, images.shape.element_type),
        window=window,
        dim_labels=labels,
        feature_group_count=groups[0],
        batch_group_count=groups[1],
        operand_precision=attrs.operand_precision,
        algorithm=attrs.algorithm,
    )


def dilated(n: int, dilation: int) -> int:
    """The elements from the first to the last of n, with holes between neighbours."""
    return (n - 1) * dilation + 1 if n else 0


def split_axis(axis: int, groups: int, x: Instruction) -> Instruction:
    """Groups of a dimension as a dimension of their own, in front of the rest of it."""
    dims = x.shape.dims
    return to_dims(x, (*dims[:axis], groups, dims[axis] // groups, *dims[axis + 1 :]))


def axis_into(source: int, target: int, x: Instruction) -> Instruction:
    """A dimension made the outer part of another one.

    Parameters
    ----------
    target : its number among the dimensions without the source.
    """
    order = [d for d in range(x.shape.rank) if d != source]
    order.insert(target, source)
    moved = permuted(x, order)
    dims = moved.shape.dims
    return to_dims(moved, (*dims[:target], dims[target] * dims[target + 1], *dims[target + 2 :]))
