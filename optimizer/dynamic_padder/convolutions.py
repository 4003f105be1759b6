"""Convolutions of values with run-time sizes, and their gradients as TensorFlow writes them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from hlo import attributes as a
from hlo.types.values import PaddingDim
from optimizer.dynamic_padder.rules import (
    CUSTOM_CALLS,
    Sizes,
    refusal,
    remade,
    require,
    rule,
    within,
)
from optimizer.dynamic_padder.values import Padded, Tree, static
from optimizer.dynamic_padder.windows import covering, extent, fitting, padding_low, put
from optimizer.expanders.parts import cut, number, to_dims
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction
    from hlo.types.values import ConvDims, WindowDim


@rule("convolution")
def convolution(instr: Instruction, lhs: Tree, rhs: Tree) -> Padded:
    """A convolution of a run-time number of images; features that do not count are made zeros."""
    attrs = a.Convolution.of(instr)
    if isinstance(lhs, tuple) or isinstance(rhs, tuple):
        raise refusal(instr, "it has a sparsity_config")
    labels = attrs.dim_labels
    inside = {labels.input_batch, labels.input_feature}
    require(instr, set(lhs.sizes) <= inside, "its windows move along a dimension of run-time size")
    sizes = _batch(instr, labels, lhs, rhs, attrs)
    return remade(instr, [Padded(lhs.zeroed()), Padded(rhs.zeroed())], sizes)


def _batch(
    instr: Instruction,
    labels: ConvDims,
    lhs: Padded,
    rhs: Padded,
    attrs: a.Convolution | a.CustomCall,
) -> Sizes:
    """The sizes of the result's dimensions that are no window's."""
    filters = {*labels.kernel_spatial, labels.kernel_input_feature}
    require(instr, set(rhs.sizes) <= filters, "it has a run-time number of filters")
    batch = lhs.sizes.get(labels.input_batch)
    grouped = attrs.feature_group_count > 1 and labels.input_feature in lhs.sizes
    grouped |= attrs.batch_group_count > 1 and batch is not None
    require(instr, not grouped, "its groups have a run-time size")
    return {labels.output_batch: batch} if batch is not None else {}


@rule("DynamicConvolutionForward", table=CUSTOM_CALLS)
def forward(instr: Instruction, lhs: Padded, rhs: Padded) -> Padded:
    """A convolution of images of run-time size: its window takes as many positions as fit."""
    attrs, labels, window = _parts(instr)
    sizes, dims, starts = _batch(instr, labels, lhs, rhs, attrs), [*lhs.value.shape.dims], Sizes()
    for k, (d, out) in enumerate(zip(labels.input_spatial, labels.output_spatial, strict=True)):
        if d in lhs.sizes:
            w, n, bound = window[k], lhs.sizes[d], instr.shape.dims[out]
            starts[d] = _low(attrs, n, w.stride, extent(w))
            window[k] = _over(dims, d, w, (bound - 1) * w.stride + extent(w))
            same = attrs.padding_type == "PADDING_SAME"
            count = covering(n, w.stride) if same else fitting(n, w.stride, extent(w))
            sizes[out] = within(count, bound)
    images = put(lhs.zeroed(), _zero(lhs), starts, dims)
    return Padded(_convolved(instr, images, rhs.zeroed(), window), sizes)


@rule("DynamicConvolutionInputGrad", table=CUSTOM_CALLS)
def input_gradient(instr: Instruction, wanted: Padded, gradient: Padded, rhs: Padded) -> Padded:
    """The gradient with holes, after as much padding as the input has less."""
    attrs, labels, window = _parts(instr)
    sizes, starts = _batch(instr, labels, gradient, rhs, attrs), Sizes()
    holes = [PaddingDim(0, 0) for _ in gradient.value.shape.dims]
    moved = [k for k, d in enumerate(labels.output_spatial) if instr.shape.dynamic_at(d)]
    for k in moved:
        holes[labels.input_spatial[k]] = PaddingDim(0, 0, window[k].base_dilation - 1)
    spaced = make("pad", gradient.zeroed(), _zero(gradient), padding=tuple(holes))
    dims = [*spaced.shape.dims]
    for k in moved:
        d, out, w = labels.input_spatial[k], labels.output_spatial[k], window[k]
        n = to_dims(cut(wanted.value, 0, out, out + 1), ())
        hidden = _low(attrs, n, w.base_dilation, extent(w))
        starts[d] = make("subtract", number(extent(w) - 1), hidden)
        bound = instr.shape.dims[out]
        window[k] = _over(dims, d, replace(w, base_dilation=1), bound + extent(w) - 1)
        sizes[out] = within(n, bound)
    images = put(spaced, _zero(gradient), starts, dims)
    return Padded(_convolved(instr, images, rhs.zeroed(), window), sizes)


@rule("DynamicConvolutionKernelGrad", table=CUSTOM_CALLS)
def kernel_gradient(instr: Instruction, lhs: Padded, gradient: Padded) -> Padded:
    """The gradient moves over the input; elements of either that do not count are zero."""
    attrs, labels, window = _parts(instr)
    sizes, dims, starts = (
        _batch(instr, labels, lhs, gradient, attrs),
        [*lhs.value.shape.dims],
        Sizes(),
    )
    for k, (d, out) in enumerate(zip(labels.input_spatial, labels.output_spatial, strict=True)):
        if d in lhs.sizes:
            w = window[k]
            span = (instr.shape.dims[out] - 1) * w.stride
            starts[d] = _low(attrs, lhs.sizes[d], w.window_dilation, span + 1)
            dims[d] += span  # more than the padding
            window[k] = _over(dims, d, w, span + extent(w))
    images = put(lhs.zeroed(), _zero(lhs), starts, dims)
    return Padded(_convolved(instr, images, gradient.zeroed(), window), sizes)


def _parts(instr: Instruction) -> tuple[a.CustomCall, ConvDims, list[WindowDim]]:
    attrs = a.CustomCall.of(instr)
    require(instr, attrs.dim_labels is not None, "it has no dim_labels")
    return attrs, cast("ConvDims", attrs.dim_labels), list(attrs.window or ())


def _low(attrs: a.CustomCall, size: Instruction, stride: int, covered: int) -> Instruction:
    same = attrs.padding_type == "PADDING_SAME"
    return padding_low(size, stride, covered) if same else number(0)


def _over(dims: list[int], d: int, w: WindowDim, needed: int) -> WindowDim:
    """A window over the needed part of a dimension, which is padded enough for any start."""
    dims[d] = max(needed, dims[d] + extent(w) - 1)
    return replace(w, pad_low=0, pad_high=needed - dims[d])


def _zero(like: Padded) -> Instruction:
    return number(0, like.value.shape.element_type)


def _convolved(
    instr: Instruction, images: Instruction, filters: Instruction, window: Sequence[WindowDim]
) -> Instruction:
    attrs = a.CustomCall.of(instr)
    return make(
        *("convolution", images, filters),
        shape=static(instr.shape),
        window=tuple(window),
        dim_labels=attrs.dim_labels,
        feature_group_count=attrs.feature_group_count,
        batch_group_count=attrs.batch_group_count,
        operand_precision=attrs.operand_precision,
    )
