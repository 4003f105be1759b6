"""Dot products of arrays: dot, ragged-dot and scaled-dot.

Every dot is a batch of matrix products: the operands' dimensions are brought into the order batch,
free, contracting, and each of the three kinds is made one dimension. The products are NumPy's,
which calls BLAS for f32, f64, c64 and c128.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from interpreter.conversion import converted
from interpreter.numbers.complexes import multiply
from interpreter.numbers.widths import narrowed, type_of, widened
from interpreter.table import evaluates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.attributes import DotDims, RaggedDotDims
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType

    Array = NDArray[Any]

# Products of complex numbers that are in memory at the same time.
_MENDED_AT_ONCE = 1 << 20
# BLAS adds products one after the other; runs of so many keep the errors of long sums small.
_RUN = 4096
# Kinds of element types that have no fractions.
_WHOLE = ("pred", "signed", "unsigned")


class Roles(NamedTuple):
    """The dimensions of one operand of a dot, by role."""

    batch: tuple[int, ...]
    free: tuple[int, ...]
    contracting: tuple[int, ...]


def _roles(rank: int, batch: tuple[int, ...], contracting: tuple[int, ...]) -> Roles:
    free = tuple(d for d in range(rank) if d not in batch and d not in contracting)
    return Roles(batch, free, contracting)


def _product_type(lhs: Array, rhs: Array, result: ElementType) -> np.dtype[Any]:
    """The NumPy type in which products of two operands are summed up.

    It is the result's, so that integers wrap around there; but small floats are summed up in f32,
    and no type is narrower than the operands'.
    """
    wide = (widened(lhs).dtype, widened(rhs).dtype, widened(np.empty(0, result.dtype)).dtype)
    if result.is_integer:
        return wide[2]
    return np.result_type(*wide)


def sum_type(lhs: Array, rhs: Array, result: ElementType) -> ElementType:
    """The type to which sums of products are rounded before they are converted to the result's.

    Sums of floats are floats, even where the result is of integers: XLA converts them then.
    """
    floats = [t for t in (type_of(lhs), type_of(rhs)) if t.is_floating]
    return max(floats, key=lambda t: t.bits) if result.is_integer and floats else result


def matrix_product(
    lhs: Array, rhs: Array, result: ElementType, exists: Array | None = None
) -> Array:
    """Batched products of matrices, in the result's type.

    Parameters
    ----------
    lhs : shape (..., m, k)
    rhs : shape (..., k, n)
    exists : shape (p, q), where p divides m and q divides k: which elements of the lhs are there, a
        pattern that repeats in both directions. The others are 0, and add nothing to a sum, though
        0 times infinity is NaN. None if all are there, or the rhs is finite.
    """
    dtype = _product_type(lhs, rhs, result)
    exact = dtype.kind in "iu" and max(type_of(lhs).bits, type_of(rhs).bits) <= 16
    # Sums of 2^21 products of 16-bit integers are exact in f64, for which there is a BLAS.
    computed = np.dtype(np.float64) if exact and lhs.shape[-1] <= 1 << 21 else dtype
    # NumPy adds in an order that follows the strides: equal values must give an equal sum.
    rows, columns = (np.asarray(_as(x, computed), order="C") for x in (lhs, rhs))
    product = np.matmul(rows[..., :_RUN], columns[..., :_RUN, :])
    for begin in range(_RUN, rows.shape[-1], _RUN):
        product += np.matmul(rows[..., begin:][..., :_RUN], columns[..., begin:, :][..., :_RUN, :])
    if dtype.kind == "c" or exists is not None:
        _mend_infinities(product, _as(lhs, dtype), _as(rhs, dtype), exists)
    return narrowed(product.astype(np.int64) if exact else product, result)


def _mend_infinities(product: Array, lhs: Array, rhs: Array, exists: Array | None) -> None:
    """Compute sums that are not finite again, by definition, over the elements that exist.

    BLAS multiplies each complex sum by 1 + 0i, which makes NaN of an infinity; but not for all
    sizes.
    """
    wrong = np.nonzero(~np.isfinite(product))
    batch, depth = product.shape[:-2], lhs.shape[-1]
    rows = np.broadcast_to(lhs, (*batch, *lhs.shape[-2:]))
    columns = np.broadcast_to(rhs, (*batch, *rhs.shape[-2:])).swapaxes(-1, -2)
    at_once = max(1, _MENDED_AT_ONCE // max(depth, 1))
    for begin in range(0, len(wrong[0]), at_once):
        *within, row, column = (p[begin : begin + at_once] for p in wrong)
        x, y = rows[(*within, row)], columns[(*within, column)]
        terms = multiply(x, y) if x.dtype.kind == "c" else x * y
        if exists is not None:
            pattern = np.tile(exists[row % len(exists)], depth // exists.shape[1])
            terms = np.where(pattern, terms, np.zeros((), terms.dtype))
        product[(*within, row, column)] = terms.sum(axis=-1)


def _as(array: Array, dtype: np.dtype[Any]) -> Array:
    return widened(array).astype(dtype, copy=False)


@evaluates("dot", xla="Dot and DotGeneral")
def evaluate_dot(instr: Instruction, attrs: DotDims, lhs: Array, rhs: Array) -> Array:
    """Multiply two arrays and sum over contracting dimensions.

    Returns
    -------
    Array
        dimensions: batch, free of the lhs, free of the rhs. Small floats are summed up in f32 and
        rounded once, and then truncated if the result is of integers; sums of integers wrap around.
        `operand_precision` and `algorithm` allow rounding
        that, as on XLA's CPU, nothing here makes use of.
    """
    return _dot(instr, attrs, lhs, rhs)


def _dot(instr: Instruction, attrs: DotDims, lhs: Array, rhs: Array) -> Array:
    left = _roles(lhs.ndim, attrs.lhs_batch_dims, attrs.lhs_contracting_dims)
    right = _roles(rhs.ndim, attrs.rhs_batch_dims, attrs.rhs_contracting_dims)
    batch, rows, depth = ([lhs.shape[d] for d in dims] for dims in left)
    columns = [rhs.shape[d] for d in right.free]
    a = lhs.transpose(left.batch + left.free + left.contracting)
    b = rhs.transpose(right.batch + right.contracting + right.free)
    target = instr.shape.element_type
    product = matrix_product(
        a.reshape(prod(batch), prod(rows), prod(depth)),
        b.reshape(prod(batch), prod(depth), prod(columns)),
        sum_type(lhs, rhs, target),
    )
    product = product.reshape(batch + rows + columns)
    return product if type_of(product) is target else converted(product, target)


@evaluates("ragged-dot", xla="RaggedDot; ragged_dot_rewriter.cc")
def evaluate_ragged_dot(
    instr: Instruction, attrs: RaggedDotDims, lhs: Array, rhs: Array, group_sizes: Array
) -> Array:
    """Multiply each group of a ragged dimension with the group's own matrix.

    The ragged dimension of the lhs is cut into groups whose sizes come at run time; what is after
    the last group belongs to none. What happens depends on the dimension's role:

    - free: each group is multiplied with its own slice of the rhs along `rhs_group_dims`; the
      result is 0 outside all groups, and a sum where a negative size makes groups overlap;
    - contracting: each group is summed up by itself; the groups are the result's first dimension;
    - batch: nothing, it is a dot.

    Parameters
    ----------
    group_sizes : shape (..., g); a size for each index into the dimensions that come before the
        ragged one when the lhs is ordered batch, then those of the ragged dimension's role.
    """
    ragged = attrs.lhs_ragged_dims[0]
    if ragged in attrs.lhs_batch_dims:
        return _dot(instr, attrs, lhs, rhs)
    if ragged in attrs.lhs_contracting_dims:
        return _grouped_sums(instr, attrs, lhs, rhs, group_sizes)
    left = _roles(lhs.ndim, attrs.lhs_batch_dims, attrs.lhs_contracting_dims)
    group_dim = attrs.rhs_group_dims[0]
    dims = {
        "rhs_batch_dims": tuple(d - (d > group_dim) for d in attrs.rhs_batch_dims),
        "rhs_contracting_dims": tuple(d - (d > group_dim) for d in attrs.rhs_contracting_dims),
    }
    result = np.zeros(instr.shape.dims, instr.shape.element_type.dtype)
    masks = _group_masks(group_sizes, lhs.shape, left.batch + left.free, ragged)
    for group, mask in enumerate(masks):
        product = _dot(instr, replace(attrs, **dims), lhs, np.take(rhs, group, group_dim))
        inside = mask.reshape(mask.shape + (1,) * (product.ndim - mask.ndim))
        result = result + np.where(inside, product, np.zeros((), product.dtype))
    return result


def _grouped_sums(
    instr: Instruction, attrs: RaggedDotDims, lhs: Array, rhs: Array, group_sizes: Array
) -> Array:
    """A ragged dot along a contracting dimension."""
    left = _roles(lhs.ndim, attrs.lhs_batch_dims, attrs.lhs_contracting_dims)
    order = left.batch + left.contracting
    twins = dict(zip(order, attrs.rhs_batch_dims + attrs.rhs_contracting_dims, strict=True))
    masks = _group_masks(group_sizes, lhs.shape, order, attrs.lhs_ragged_dims[0])
    sums: list[Array] = []
    for mask in masks:
        named = order[: mask.ndim]
        # 0 on both sides, lest a NaN of another group come in as 0 * NaN.
        a = np.where(_spread(mask, named, lhs.ndim), lhs, np.zeros((), lhs.dtype))
        right_named = tuple(twins[d] for d in named)
        b = np.where(_spread(mask, right_named, rhs.ndim), rhs, np.zeros((), rhs.dtype))
        sums.append(_dot(instr, attrs, a, b))
    return np.stack(sums)


def _group_masks(
    group_sizes: Array, dims: tuple[int, ...], order: tuple[int, ...], ragged: int
) -> Array:
    """For each group a pred: which indices along the ragged dimension are the group's.

    Returns
    -------
    Array
        shape (g, sizes of the dimensions of `order` up to the ragged one)
    """
    rank = order.index(ragged)
    sizes = widened(group_sizes).astype(np.int64)
    prefix = [dims[d] for d in order[:rank]]
    ends = np.cumsum(np.broadcast_to(sizes, (*prefix, sizes.shape[-1])), axis=-1)[..., np.newaxis]
    starts = ends - sizes[..., np.newaxis]
    count = np.arange(dims[ragged])
    return np.moveaxis((starts <= count) & (count < ends), -2, 0)


def _spread(mask: Array, named: tuple[int, ...], rank: int) -> Array:
    """A mask whose dimensions are the named ones of an array, so that it broadcasts to it."""
    rising = mask.transpose(np.argsort(named))
    return np.expand_dims(rising, [d for d in range(rank) if d not in named])


@evaluates("scaled-dot", xla="ScaledDot; scaled_dot_rewriter.cc")
def evaluate_scaled_dot(
    instr: Instruction, attrs: DotDims, lhs: Array, rhs: Array, lhs_scale: Array, rhs_scale: Array
) -> Array:
    """Multiply two arrays whose blocks of elements share scales.

    Parameters
    ----------
    lhs_scale, rhs_scale : shape (), or of the operand's rank, sizes dividing the operand's: each
        scale multiplies a block of operand elements.
    """
    return _dot(instr, attrs, _scaled(lhs, lhs_scale), _scaled(rhs, rhs_scale))


def _scaled(operand: Array, scale: Array) -> Array:
    """Elements times the scales of their blocks, exact in f32 for all block formats."""
    wide = _floating(scale)
    if wide.ndim:
        for axis, (n, blocks) in enumerate(zip(operand.shape, wide.shape, strict=True)):
            wide = np.repeat(wide, n // max(blocks, 1), axis)
    return _floating(operand) * wide


def _floating(x: Array) -> Array:
    """Integers as f32, other numbers in at least 32 bits."""
    return x.astype(np.float32) if type_of(x).kind in _WHOLE else widened(x)
