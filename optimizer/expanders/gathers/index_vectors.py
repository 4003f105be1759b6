"""The base of gather's and scatter's expanders: index vectors as rows, and windows at them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.element_type import S32
from optimizer.expanders.parts import (
    counting,
    cut,
    joined,
    number,
    permuted,
    size_of,
    to_dims,
    to_type,
)
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction


def rows_of(indices: Instruction, vector_dim: int) -> tuple[Instruction, tuple[int, ...]]:
    """The index vectors as rows of a matrix, and the dimensions of the batch that they make up."""
    with_vectors = with_vector_dim(indices, vector_dim)
    rank, dims = with_vectors.shape.rank, with_vectors.shape.dims
    batch = [d for d in range(rank) if d != vector_dim]
    sizes = tuple(dims[d] for d in batch)
    ordered = permuted(with_vectors, [*batch, vector_dim])
    return to_dims(ordered, (size_of(sizes), dims[vector_dim])), sizes


def with_vector_dim(indices: Instruction, vector_dim: int) -> Instruction:
    """The same indices with a dimension for the vectors, which may be left out if they have one."""
    dims = indices.shape.dims
    return to_dims(indices, (*dims, 1)) if vector_dim == len(dims) else indices


def with_batch_indices(
    indices: Instruction, vector_dim: int, batching: Sequence[int]
) -> Instruction:
    """Index vectors with their indices along batching dimensions in front.

    Narrow integers become s32 first, since indices need not fit into them.
    """
    vectors = with_vector_dim(indices, vector_dim)
    if vectors.shape.element_type.bits < 32:
        vectors = to_type(vectors, S32)
    element_type, dims = vectors.shape.element_type, list(vectors.shape.dims)
    dims[vector_dim] = 1
    return joined([*(counting(element_type, dims, d) for d in batching), vectors], vector_dim)


def starts_of(row: Instruction, index_map: Sequence[int], rank: int) -> list[Instruction]:
    """The start of a window in each dimension, as scalars.

    Parameters
    ----------
    row : one index vector, shape (k,).
    index_map : the dimension that each of its elements speaks of; in others the start is 0.
    """
    element_type = row.shape.element_type if index_map else S32
    zero = number(0, element_type)
    starts = {d: to_dims(cut(row, 0, i, i + 1), ()) for i, d in enumerate(index_map)}
    return [starts.get(d, zero) for d in range(rank)]


def row_at(rows: Instruction, iteration: Instruction) -> Instruction:
    """One row of a matrix, or of an array of more dimensions."""
    sizes = rows.shape.dims[1:]
    zeros = [number(0)] * len(sizes)
    taken = make("dynamic-slice", rows, iteration, *zeros, dynamic_slice_sizes=(1, *sizes))
    return to_dims(taken, sizes)


def interleaved(rank: int, window_dims: Sequence[int]) -> list[int]:
    """The order that puts window dimensions, which come last, where `window_dims` says."""
    batch = iter(range(rank - len(window_dims)))
    first = rank - len(window_dims)
    inside = {d: first + i for i, d in enumerate(window_dims)}
    return [inside[d] if d in inside else next(batch) for d in range(rank)]


def inverse(order: Sequence[int]) -> list[int]:
    """The permutation that undoes another."""
    return sorted(range(len(order)), key=lambda i: order[i])
