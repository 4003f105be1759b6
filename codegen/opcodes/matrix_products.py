"""Dot products and convolutions as products of matrices: where each element of a matrix lies.

A convolution is one by *implicit GEMM*: the rows are the positions of the output, the columns
output features, and the contraction is over the window and the input features. The matrix of
windows is in no memory: elements of the padding, or between dilated elements, are zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import prod
from typing import TYPE_CHECKING

from codegen.opcodes.operands import operands_of
from codegen.opcodes.products import (
    element_as,
    flipped,
    input_element,
    product_result,
    product_type,
)
from hlo import attributes as a
from optimizer.analysis.indexing import Sum, counter, delinear

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index


class Product(ABC):
    """Products of matrices: `batch` of `rows` x `depth` by `depth` x `columns`.

    Parameters
    ----------
    batches : sizes of the batch dimensions.
    frees : sizes of the dimensions that make up the rows, and of those that make up the columns.
    depths : sizes of the contracted dimensions.

    Attributes
    ----------
    type : in which products are added up.
    zero_filled : whether the left matrix has zeros in the place of missing floats, so that an
        infinity or NaN in the right one makes sums NaN that are none.
    in_memory : whether each matrix lies in memory, though its dimensions may be in another order.
    """

    zero_filled, in_memory = False, True

    def __init__(
        self,
        body: Body,
        dot: Instruction,
        batches: Sequence[int],
        frees: tuple[Sequence[int], Sequence[int]],
        depths: Sequence[int],
    ) -> None:
        self.body, self.dot, self.type = body, dot, product_type(dot)
        self.batches, self.frees, self.depths = batches, frees, depths
        self.batch, self.depth = prod(batches), prod(depths)
        self.rows, self.columns = map(prod, frees)

    @abstractmethod
    def contracted_last(self, side: int) -> bool:
        """Whether neighbours along the contraction are neighbours in an operand's memory."""

    @abstractmethod
    def operand(self, side: int, batch: Sum, free: Sum, k: Sum) -> tuple[Expr | None, Index]:
        """The index of a matrix's element in an operand, and the condition that it is there.

        Returns
        -------
        tuple
            the condition, None where it always holds, and the index; elsewhere it is zero.
        """

    @abstractmethod
    def index(self, batch: Sum, row: Sum, column: Sum) -> Index:
        """The index of an element of the result."""

    def element(self, side: int, index: Index) -> Expr:
        """An element of an operand, in the type in which products are added up."""
        return element_as(self.body, self.dot.operands[side], index, self.type)

    def result(self, total: Expr) -> Expr:
        """A sum of products in the result's type."""
        return product_result(self.dot, total)


class DotProduct(Product):
    """A dot product as one of matrices."""

    def __init__(self, body: Body, dot: Instruction) -> None:
        self.sides = left, right = operands_of(dot)
        frees = left.sizes(left.free), right.sizes(right.free)
        super().__init__(body, dot, left.sizes(left.batch), frees, left.sizes(left.contracting))

    def contracted_last(self, side: int) -> bool:
        """Whether an operand's last dimension is contracted."""
        return self.dot.operands[side].shape.rank - 1 in self.sides[side].contracting

    def operand(self, side: int, batch: Sum, free: Sum, k: Sum) -> tuple[None, Index]:
        """The index of a matrix's element in an operand."""
        parts = (batch, self.batches), (free, self.frees[side]), (k, self.depths)
        return None, self.sides[side].index(*(delinear(number, sizes) for number, sizes in parts))

    def index(self, batch: Sum, row: Sum, column: Sum) -> Index:
        """The index of an element of the result: batch, rows, columns."""
        left, right = self.frees
        return (*delinear(batch, self.batches), *delinear(row, left), *delinear(column, right))


class ConvolutionProduct(Product):
    """A convolution as a product of matrices, one for each group.

    The contraction goes through the kernel as it lies in memory, and rows through images and their
    positions; but what comes last in the input, features or images, comes last here.
    """

    in_memory = False

    def __init__(self, body: Body, convolution: Instruction) -> None:
        attrs = a.Convolution.of(convolution)
        self.attrs, self.labels = attrs, attrs.dim_labels
        kernel, output = convolution.operands[1].shape.dims, convolution.shape.dims
        groups = max(attrs.feature_group_count, attrs.batch_group_count)
        self.group_size = kernel[self.labels.kernel_output_feature] // groups
        last, feature = len(kernel) - 1, self.labels.kernel_input_feature
        self.contracted = [d for d in range(len(kernel)) if d != self.labels.kernel_output_feature]
        if self.labels.input_feature == last:
            self.contracted.sort(key=lambda d: d == feature)
        self.row_dims = [self.labels.output_batch, *self.labels.output_spatial]
        if self.labels.input_batch == last:
            self.row_dims.append(self.row_dims.pop(0))
        super().__init__(
            body,
            convolution,
            [groups],
            ([output[d] for d in self.row_dims], [self.group_size]),
            [kernel[d] for d in self.contracted],
        )
        row, k = counter("row", self.rows), counter("k", self.depth)
        condition, _ = self.operand(0, counter("group", groups), row, k)
        self.zero_filled = condition is not None and not self.type.is_integer

    def contracted_last(self, side: int) -> bool:
        """Whether features are last in the input and the contraction, or last in the kernel."""
        last = self.dot.operands[side].shape.rank - 1
        if side == 1:
            return last != self.labels.kernel_output_feature
        feature = self.labels.kernel_input_feature
        return last == self.labels.input_feature and self.contracted[-1] == feature

    def operand(self, side: int, batch: Sum, free: Sum, k: Sum) -> tuple[Expr | None, Index]:
        """The index of a matrix's element in the input or the kernel; a zero is in neither."""
        labels, kernel = self.labels, self.dot.operands[1].shape.dims
        inside = dict(zip(self.contracted, delinear(k, self.depths), strict=True))
        if side == 1:
            inside[labels.kernel_output_feature] = batch * self.group_size + free
            return None, tuple(inside[d] for d in range(len(kernel)))
        by_dim = dict(zip(self.row_dims, delinear(free, self.frees[0]), strict=True))
        image = by_dim[labels.output_batch]
        feature = inside[labels.kernel_input_feature]
        if self.attrs.feature_group_count > 1:
            feature = feature + batch * kernel[labels.kernel_input_feature]
        if self.attrs.batch_group_count > 1:
            images = self.dot.operands[0].shape.dims[labels.input_batch]
            image = image + batch * (images // self.attrs.batch_group_count)
        steps = flipped(tuple(inside[d] for d in labels.kernel_spatial), self.attrs.window)
        spatial = tuple(by_dim[d] for d in labels.output_spatial)
        condition, at = input_element(self.dot, spatial, steps)
        return condition, at(image, feature)

    def index(self, batch: Sum, row: Sum, column: Sum) -> Index:
        """The index of an element of the result."""
        index = [Sum(0)] * self.dot.shape.rank
        for d, part in zip(self.row_dims, delinear(row, self.frees[0]), strict=True):
            index[d] = part
        index[self.labels.output_feature] = batch * self.group_size + column
        return tuple(index)


# The products that can be computed in tiles, by opcode.
PRODUCTS: dict[str, Callable[[Body, Instruction], Product]] = {
    "convolution": ConvolutionProduct,
    "dot": DotProduct,
}
