"""Shapes of gather and scatter: which dimension of each array plays which role.

A gather's result has two sorts of dimensions: `offset_dims`, along which one slice of the operand
lies, and batch dimensions, one for each dimension of the indices but `index_vector_dim`, along
which the slices are laid out. A scatter's updates are made up alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.infer.checks import (
    dynamic_flags,
    expect_array,
    expect_dimensions,
    expect_kinds,
    expect_lengths,
    expect_same_dims,
    expect_sorted,
    scalar_of,
    show,
    sizes_agree,
    tuple_or_one,
)
from hlo.infer.reducer import expect_reducer
from hlo.infer.table import infers
from hlo.types.shape import UNBOUNDED, Shape, array
from hlo.wording import counted

if TYPE_CHECKING:
    from hlo import attributes as a
    from hlo.instruction import Instruction


def _with_vector(indices: Shape, index_vector_dim: int) -> tuple[list[int], list[bool]]:
    """The indices' dimensions, with the one of size 1 that is implied if it lies past the end."""
    expect_kinds(indices, "signed", "unsigned")
    if not 0 <= index_vector_dim <= indices.rank:
        raise HloError(
            "HLO026", f"index_vector_dim: there is no dimension {index_vector_dim} of the indices"
        )
    dims, dynamic = list(indices.dims), list(dynamic_flags(indices))
    if index_vector_dim == indices.rank:
        return [*dims, 1], [*dynamic, False]
    return dims, dynamic


def _expect_index_map(
    name: str, index_map: tuple[int, ...], vector_size: int, operand: Shape
) -> None:
    """Each component of an index vector goes to a dimension of the operand of its own."""
    if not sizes_agree(len(index_map), vector_size):
        raise HloError(
            "HLO037",
            f"{name} names {counted(len(index_map), 'dimension')} "
            f"for index vectors of {vector_size}",
        )
    expect_dimensions(name, index_map, operand.rank)


def _expect_batching(
    names: tuple[str, str],
    dims: tuple[tuple[int, ...], tuple[int, ...]],
    operand: Shape,
    index_dims: list[int],
    index_vector_dim: int,
    index_map: tuple[int, ...],
) -> None:
    """Batching dimensions come in pairs, one of the operand and one of the indices.

    No index vector has a component for one, since a dimension has one start. XLA's verifier lets
    such a component pass, but StableHLO's specification does not. The pairs ought to be of one size
    too, but XLA never looks: it turns batching dimensions into start indices, which are clamped.
    """
    (operand_name, index_name), (operand_dims, indices) = names, dims
    expect_sorted(operand_name, operand_dims)
    expect_dimensions(operand_name, operand_dims, operand.rank)
    expect_dimensions(index_name, indices, len(index_dims))
    if len(operand_dims) != len(indices):
        raise HloError("HLO037", f"{operand_name} and {index_name} differ in length")
    if index_vector_dim in indices:
        raise HloError("HLO037", f"{index_name} includes index_vector_dim {index_vector_dim}")
    both = [dim for dim in operand_dims if dim in index_map]
    if both:
        raise HloError(
            "HLO037",
            f"dimension {both[0]} has a start index, but is one of {operand_name}",
            notes=["a batching dimension starts at the number of its batch"],
        )


@infers("gather", xla="ShapeInference::InferGatherShape")
def infer_gather(_instr: Instruction, attrs: a.Gather, operand: Shape, indices: Shape) -> Shape:
    """Batch dimensions as the indices have them, and between them the slices' at `offset_dims`."""
    expect_array(operand)
    index_dims, index_dynamic = _with_vector(indices, attrs.index_vector_dim)
    rank = len(attrs.offset_dims) + len(index_dims) - 1
    expect_sorted("offset_dims", attrs.offset_dims)
    expect_dimensions("offset_dims", attrs.offset_dims, rank)
    _expect_index_map(
        "start_index_map", attrs.start_index_map, index_dims[attrs.index_vector_dim], operand
    )
    _expect_batching(
        ("operand_batching_dims", "start_indices_batching_dims"),
        (attrs.operand_batching_dims, attrs.start_indices_batching_dims),
        operand,
        index_dims,
        attrs.index_vector_dim,
        attrs.start_index_map,
    )
    _expect_slices(attrs, operand)
    dropped = {*attrs.collapsed_slice_dims, *attrs.operand_batching_dims}
    flags = dynamic_flags(operand)
    offsets = iter(
        (size, flags[i] and size == operand.dims[i])
        for i, size in enumerate(attrs.slice_sizes)
        if i not in dropped
    )
    batches = iter(
        (size, index_dynamic[i]) for i, size in enumerate(index_dims) if i != attrs.index_vector_dim
    )
    sizes = [next(offsets if i in attrs.offset_dims else batches) for i in range(rank)]
    return array(
        operand.element_type, tuple(size for size, _ in sizes), tuple(flag for _, flag in sizes)
    )


def _expect_slices(attrs: a.Gather, operand: Shape) -> None:
    """Slices fit into the operand; each of their dimensions is an offset or of size 1."""
    sizes, collapsed = attrs.slice_sizes, attrs.collapsed_slice_dims
    expect_lengths(operand, "slice_sizes", len(sizes))
    expect_sorted("collapsed_slice_dims", collapsed)
    expect_dimensions(
        "collapsed_slice_dims and operand_batching_dims",
        (*collapsed, *attrs.operand_batching_dims),
        operand.rank,
    )
    dropped = (*collapsed, *attrs.operand_batching_dims)
    if len(sizes) != len(attrs.offset_dims) + len(dropped):
        raise HloError(
            "HLO037",
            f"{len(attrs.offset_dims)} offset_dims and {len(dropped)} dropped dimensions "
            f"are not the {operand.rank} of {show(operand)}",
        )
    for i, (size, full) in enumerate(zip(sizes, operand.dims, strict=True)):
        if size < 0 or (full != UNBOUNDED and size > full):
            raise HloError("HLO031", f"slice_sizes: {size} in dimension {i} of {show(operand)}")
    for i in dropped:
        if sizes[i] > 1:
            raise HloError(
                "HLO037", f"dimension {i} is dropped from the slice, but has size {sizes[i]}"
            )


@infers("scatter", xla="ShapeInference::InferScatterShape")
def infer_scatter(instr: Instruction, attrs: a.Scatter, *operands: Shape) -> Shape:
    """The operands' shapes: one shape, or a tuple where several are scattered into together."""
    count, odd = divmod(len(operands), 2)
    if not odd or not count:
        raise HloError(
            "HLO024",
            f"takes n operands, indices and n updates, not {len(operands)} operands in all",
        )
    inputs, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    index_dims, _ = _with_vector(indices, attrs.index_vector_dim)
    for operand, update in zip(inputs, updates, strict=True):
        expect_array(operand, update)
        expect_same_dims(operand, inputs[0])
        expect_same_dims(update, updates[0])
        _expect_roles(attrs, operand, update, index_dims)
        _expect_updates(attrs, operand, update, index_dims)
    expect_reducer(instr.called[0], [scalar_of(operand) for operand in inputs], updates)
    return tuple_or_one(inputs)


def _expect_roles(attrs: a.Scatter, operand: Shape, update: Shape, index_dims: list[int]) -> None:
    """Every dimension of operand, updates and indices has exactly one role."""
    window, inserted = attrs.update_window_dims, attrs.inserted_window_dims
    rank = len(index_dims) - 1 + len(window)
    if update.rank != rank:
        raise HloError("HLO028", f"updates must have {rank} dimensions: {show(update)}")
    expect_sorted("update_window_dims", window)
    expect_dimensions("update_window_dims", window, rank)
    expect_sorted("inserted_window_dims", inserted)
    expect_dimensions(
        "inserted_window_dims and input_batching_dims",
        (*inserted, *attrs.input_batching_dims),
        operand.rank,
    )
    _expect_batching(
        ("input_batching_dims", "scatter_indices_batching_dims"),
        (attrs.input_batching_dims, attrs.scatter_indices_batching_dims),
        operand,
        index_dims,
        attrs.index_vector_dim,
        attrs.scatter_dims_to_operand_dims,
    )
    if len(window) + len(inserted) + len(attrs.input_batching_dims) != operand.rank:
        raise HloError(
            "HLO037",
            f"a window of {len(window) + len(inserted)} dimensions in {show(operand)}",
        )
    _expect_index_map(
        "scatter_dims_to_operand_dims",
        attrs.scatter_dims_to_operand_dims,
        index_dims[attrs.index_vector_dim],
        operand,
    )


def _expect_updates(attrs: a.Scatter, operand: Shape, update: Shape, index_dims: list[int]) -> None:
    """Windows fit into the operand; the other sizes are the indices'."""
    dropped = {*attrs.inserted_window_dims, *attrs.input_batching_dims}
    limits = [size for i, size in enumerate(operand.dims) if i not in dropped]
    for dim, limit in zip(attrs.update_window_dims, limits, strict=True):
        if limit != UNBOUNDED and update.dims[dim] > limit:
            raise HloError(
                "HLO031",
                f"a window of {update.dims[dim]} in dimension {dim} of {show(update)} "
                f"does not fit into {show(operand)}",
            )
    wanted = [size for i, size in enumerate(index_dims) if i != attrs.index_vector_dim]
    sizes = [size for i, size in enumerate(update.dims) if i not in attrs.update_window_dims]
    if not all(map(sizes_agree, wanted, sizes)):
        raise HloError(
            "HLO037",
            f"{show(update)} has updates for indices of {sizes}, but the indices are {wanted}",
        )
