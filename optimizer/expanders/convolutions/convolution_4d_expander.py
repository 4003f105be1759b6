"""Drops spatial dimensions of size 1 from convolutions of four and more.

convolution(f32[1,9,1,9,9,2] x, ...)   =>   reshape(convolution(f32[1,9,9,9,2] reshape(x), ...))

Libraries have convolutions of up to three spatial dimensions. A dimension of size 1 that is not
padded meets one element of the kernel, and gives one element of the result.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.attributes import Convolution
from hlo.types.values import ConvDims
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.dots.batch_dot_simplification import renumbered, without
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import to_dims

if TYPE_CHECKING:
    from hlo.instruction import Instruction

# As many spatial dimensions have libraries of their own.
USUAL = 3


@expander(
    "convolution_4d_expander",
    "convolution",
    promise=ROUNDING,
    xla="xla/hlo/transforms/expanders/convolution_4d_expander.cc",
)
def drop_degenerate_spatial(site: ExpansionSite) -> Instruction | None:
    """Removes degenerate spatial dimensions of convolutions that have many."""
    instr = site.instr
    attrs, (image, kernel) = Convolution.of(instr), instr.operands
    labels, window = attrs.dim_labels, attrs.window
    if len(window) <= USUAL:
        return None
    is_trivial = [
        image.shape.dims[d] == kernel.shape.dims[k] == 1 and (w.pad_low, w.pad_high) == (0, 0)
        for d, k, w in zip(labels.input_spatial, labels.kernel_spatial, window, strict=True)
    ]
    if not any(is_trivial):
        return None
    trivial = [i for i, gone in enumerate(is_trivial) if gone]
    inputs, kernels, outputs = (
        {dims[i] for i in trivial}
        for dims in (labels.input_spatial, labels.kernel_spatial, labels.output_spatial)
    )
    dims = [n for d, n in enumerate(instr.shape.dims) if d not in outputs]
    convolution = instr.with_(
        operands=(without(image, inputs), without(kernel, kernels)),
        attrs=replace(
            attrs,
            window=tuple(w for i, w in enumerate(window) if i not in trivial),
            dim_labels=relabelled(labels, inputs, kernels, outputs),
        ),
        shape=instr.shape.with_dims(tuple(dims)),
    )
    return to_dims(convolution, instr.shape.dims)


def relabelled(
    labels: ConvDims, inputs: set[int], kernels: set[int], outputs: set[int]
) -> ConvDims:
    """The roles of the dimensions that are left when some are gone."""

    def new_number(dim: int, gone: set[int]) -> int:
        return renumbered((dim,), gone)[0]

    return ConvDims(
        new_number(labels.input_batch, inputs),
        new_number(labels.input_feature, inputs),
        renumbered(labels.input_spatial, inputs),
        new_number(labels.kernel_input_feature, kernels),
        new_number(labels.kernel_output_feature, kernels),
        renumbered(labels.kernel_spatial, kernels),
        new_number(labels.output_batch, outputs),
        new_number(labels.output_feature, outputs),
        renumbered(labels.output_spatial, outputs),
        renumbered(labels.unknown_input, inputs),
        renumbered(labels.unknown_kernel, kernels),
        renumbered(labels.unknown_output, outputs),
    )
