"""Brings the dimensions of convolutions into one order, by transposes around them.

The input becomes batch, spatial, feature; the kernel spatial, input feature, output feature; and so
the result: the order that Eigen, the library behind XLA's CPU, wants.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.attributes import Convolution
from hlo.types.values import ConvDims
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.gathers.index_vectors import inverse
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import permuted

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "convolution-canonicalization",
    "convolution",
    promise=ROUNDING,
    xla="xla/service/cpu/conv_canonicalization.cc",
)
def canonical_order(site: ExpansionSite) -> Instruction | None:
    """Transposes the operands and results of convolutions into the canonical order."""
    instr = site.instr
    attrs, (image, kernel) = Convolution.of(instr), instr.operands
    labels = attrs.dim_labels
    spatial = tuple(range(1, len(attrs.window) + 1))
    last = len(spatial) + 1
    canonical = ConvDims(
        0, last, spatial, last - 1, last, tuple(s - 1 for s in spatial), 0, last, spatial
    )
    unknown = labels.unknown_input or labels.unknown_kernel or labels.unknown_output
    if labels == canonical or unknown:
        return None
    into_image = (labels.input_batch, *labels.input_spatial, labels.input_feature)
    into_kernel = (
        *labels.kernel_spatial,
        labels.kernel_input_feature,
        labels.kernel_output_feature,
    )
    into_result = (labels.output_batch, *labels.output_spatial, labels.output_feature)
    convolution = instr.with_(
        operands=(permuted(image, into_image), permuted(kernel, into_kernel)),
        attrs=replace(attrs, dim_labels=canonical),
        shape=instr.shape.with_dims(tuple(instr.shape.dims[d] for d in into_result)),
    )
    return permuted(convolution, inverse(into_result))
