"""Convolutions on a GPU's tensor cores, and the order of dimensions that they read fast.

Tiles of images are copied 16 bytes at once if neighbours in memory are features, or images. Where
they are places of an image, each number is read by itself, as the window shifts them.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from hlo.attributes import Convolution
from optimizer.analysis.byte_products import LEAST_PRODUCTS, LEAST_USES, TOGETHER

if TYPE_CHECKING:
    from hlo.instruction import Instruction

TYPES = frozenset({"bf16", "f16"})
# Rows and columns of a product for which tensor cores have enough work.
LEAST = 32


def wants_features_last(convolution: Instruction) -> bool:
    """Whether spatial dimensions come last, and had better come before something else.

    References
    ----------
    XLA, `GpuLayoutAssignment::AddBackendConstraintsToDnnConvCustomCall`, which wants features last
    of all convolutions of f16 and bf16.
    """
    attrs = Convolution.of(convolution)
    labels, (image, kernel) = attrs.dim_labels, convolution.operands
    types = {operand.shape.element_type.name for operand in convolution.operands}
    last = image.shape.rank - 1
    are_last = last in labels.input_spatial or last in labels.kernel_spatial
    if len(types) != 1 or not types <= TYPES or not are_last:
        return False
    if attrs.feature_group_count > 1 or attrs.batch_group_count > 1 or labels.unknown_input:
        return False
    neighbours = max(labels.input_batch, labels.input_feature)
    columns = kernel.shape.dims[labels.kernel_output_feature]
    uses, size = columns * prod(w.size for w in attrs.window), convolution.shape.size
    products = size * prod(kernel.shape.dims) // max(columns, 1)
    enough = min(columns, size // max(columns, 1)) >= LEAST
    # By the rates of `byte_products`, other orders of dimensions then cost less than they save.
    whole = image.shape.dims[neighbours] % (TOGETHER // 2) == 0
    return enough and whole and uses >= LEAST_USES and products >= LEAST_PRODUCTS
