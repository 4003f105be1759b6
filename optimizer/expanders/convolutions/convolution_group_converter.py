"""Writes convolutions in groups as convolutions without.

batch groups:     the groups of the batch become groups of features, one after the other
feature groups:   a convolution for each group, on its part of the input features and of the
                  kernel's output features; the results are joined

XLA spreads the kernel over all input features instead, with 0 between a group's output and the
other groups' input; then an infinity in one group makes NaN in all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.attributes import Convolution
from interpreter.numbers.compare import ROUNDING
from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import cut, joined, permuted, to_dims

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "convolution-group-converter",
    "convolution",
    promise=ROUNDING,
    xla="xla/hlo/transforms/expanders/convolution_group_converter.cc",
)
def ungroup(
    site: ExpansionSite, *, limit: int = 16, batch_groups_only: bool = False
) -> Instruction | None:
    """Replaces grouped convolutions by ungrouped ones.

    Parameters
    ----------
    limit : as many feature groups are split at most: each is a convolution of its own.
    batch_groups_only : leave feature groups alone.
    """
    instr, attrs = site.instr, Convolution.of(site.instr)
    if attrs.batch_group_count > 1:
        instr = by_features(instr)
        attrs = Convolution.of(instr)
    if 1 < attrs.feature_group_count <= limit and not batch_groups_only:
        return one_by_one(instr)
    return None if instr is site.instr else instr


def by_features(instr: Instruction) -> Instruction:
    """The same convolution with groups of features instead of groups of the batch."""
    attrs, (image, kernel) = Convolution.of(instr), instr.operands
    groups, labels = attrs.batch_group_count, attrs.dim_labels
    batch, feature = labels.input_batch, labels.input_feature
    dims = list(image.shape.dims)
    # The groups get a dimension of their own in front of the batch, move in front of the features,
    # and become one dimension with these.
    split = to_dims(image, [*dims[:batch], groups, dims[batch] // groups, *dims[batch + 1 :]])
    order: list[int] = []
    for d in range(len(dims)):
        order += [batch] * (d == feature) + [d + (d >= batch)]
    dims[batch], dims[feature] = dims[batch] // groups, dims[feature] * groups
    merged = to_dims(permuted(split, order), dims)
    grouped = replace(attrs, batch_group_count=1, feature_group_count=groups)
    return instr.with_(operands=(merged, kernel), attrs=grouped)


def one_by_one(instr: Instruction) -> Instruction:
    """The convolutions of all groups of features, joined."""
    attrs, (image, kernel) = Convolution.of(instr), instr.operands
    groups, labels = attrs.feature_group_count, attrs.dim_labels
    inputs, outputs = labels.input_feature, labels.kernel_output_feature
    width = image.shape.dims[inputs] // groups
    height = kernel.shape.dims[outputs] // groups
    dims = list(instr.shape.dims)
    dims[labels.output_feature] = height
    parts = [
        instr.with_(
            operands=(
                cut(image, inputs, g * width, (g + 1) * width),
                cut(kernel, outputs, g * height, (g + 1) * height),
            ),
            attrs=replace(attrs, feature_group_count=1),
            shape=instr.shape.with_dims(tuple(dims)),
            control_predecessors=(),
        )
        for g in range(groups)
    ]
    return joined(parts, labels.output_feature)
