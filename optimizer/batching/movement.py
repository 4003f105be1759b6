"""Batched forms of opcodes that work on each element, or move elements: one dimension more.

Starts and indices that differ from example to example make a gather of a dynamic-slice, and a
scatter of a dynamic-update-slice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.opcode import ELEMENTWISE, FORWARDING
from hlo.types.element_type import PRED
from hlo.types.shape import array
from hlo.types.values import PaddingDim, SliceDim
from optimizer.batching.one_by_one import one_by_one
from optimizer.batching.table import Batch, Flags, after, batches, remade
from optimizer.derivative.indexing import fields, replacer
from optimizer.expanders.parts import number, spread, to_dims, to_type
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction


@batches(*sorted(ELEMENTWISE - {"stochastic-convert"}), "stochastic-convert", "copy", "map")
def elementwise(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """The same on one dimension more; a scalar beside arrays stays one, if all share it."""
    dims = (batch.size, *instr.shape.dims)
    results: list[Instruction] = []
    for old, new, (flag,) in zip(instr.operands, operands, flags, strict=True):
        is_scalar = not old.shape.dims and bool(instr.shape.dims)
        if is_scalar:
            # A pred that chooses between arrays, or a bound of all elements.
            results.append(spread(new, dims, (0,)) if flag else new)
        else:
            results.append(batch.spread(new, flag))
    if isinstance(instr.attrs, a.Map):
        return remade(batch, instr, results, dimensions=tuple(range(len(dims))))
    return remade(batch, instr, results)


@batches("bitcast-convert", "reshape", "cholesky", "fft")
def in_front(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """The opcode works on the dimensions after the batch."""
    changes = {"inferred_dimension": -1} if isinstance(instr.attrs, a.Reshape) else {}
    return remade(batch, instr, batch.all(operands, flags), **changes)


@batches("triangular-solve", "topk", "all-reduce", "collective-broadcast")
def in_front_too(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """The opcode works on the dimensions after the batch, or sends all of them."""
    return remade(batch, instr, batch.all(operands, flags))


@batches(*FORWARDING)
def identity(
    _batch: Batch, instr: Instruction, operands: Sequence[Instruction], _flags: Sequence[Flags]
) -> Instruction:
    """The same on the batched value; which of its leaves are, stays the same."""
    return instr.with_(operands=tuple(operands), shape=operands[0].shape, control_predecessors=())


@batches("tuple")
def tuple_(
    _batch: Batch, _instr: Instruction, operands: Sequence[Instruction], _flags: Sequence[Flags]
) -> Instruction:
    """A tuple of the elements, batched or not."""
    return make("tuple", *operands)


@batches("get-tuple-element")
def get_tuple_element(
    _batch: Batch, instr: Instruction, operands: Sequence[Instruction], _flags: Sequence[Flags]
) -> Instruction:
    """The element."""
    return make("get-tuple-element", operands[0], index=a.GetTupleElement.of(instr).index)


@batches("get-dimension-size")
def get_dimension_size(
    batch: Batch, instr: Instruction, _operands: Sequence[Instruction], _flags: Sequence[Flags]
) -> Instruction:
    """The size, for each example."""
    (d,) = a.Dimensions.of(instr).dimensions
    return batch.spread(number(instr.operands[0].shape.dims[d]), False)


@batches("broadcast")
def broadcast(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], _flags: Sequence[Flags]
) -> Instruction:
    """The batch in front stays there."""
    dims = a.Broadcast.of(instr).dimensions
    return remade(batch, instr, operands, dimensions=(0, *after(dims)))


@batches("transpose")
def transpose(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], _flags: Sequence[Flags]
) -> Instruction:
    """The batch in front stays there."""
    dims = a.Dimensions.of(instr).dimensions
    return remade(batch, instr, operands, dimensions=(0, *after(dims)))


@batches("reverse", "concatenate", "sort", "all-gather", "reduce-scatter")
def along_dimensions(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """The dimensions of each example have a number one higher."""
    assert isinstance(instr.attrs, a.Dimensions | a.Sort | a.AllGather | a.ReduceScatter)
    dims = instr.attrs.dimensions
    return remade(batch, instr, batch.all(operands, flags), dimensions=after(dims))


@batches("all-to-all")
def all_to_all(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """The dimension that is cut has a number one higher; a tuple's elements are sent whole."""
    dims = a.AllToAll.of(instr).dimensions
    changes = {} if dims is None else {"dimensions": after(dims)}
    return remade(batch, instr, batch.all(operands, flags), **changes)


@batches("collective-permute")
def collective_permute(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """All examples are sent; the form that writes in place is done one by one."""
    if a.CollectivePermute.of(instr).slice_sizes:
        return one_by_one(batch, instr, operands, flags)
    return remade(batch, instr, batch.all(operands, flags))


@batches("slice")
def slice_(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], _flags: Sequence[Flags]
) -> Instruction:
    """All examples."""
    ranges = a.Slice.of(instr).slice
    return remade(batch, instr, operands, slice=(SliceDim(0, batch.size), *ranges))


@batches("pad")
def pad(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """No padding of the batch; values that differ are selected where no element is."""
    (x, value), ((x_flag,), (value_flag,)) = operands, flags
    x = batch.spread(x, x_flag)
    padding = (PaddingDim(0, 0), *a.Pad.of(instr).padding)
    if not value_flag:
        return remade(batch, instr, (x, value), padding=padding)
    zero = number(0, x.shape.element_type)
    padded = remade(batch, instr, (x, zero), padding=padding)
    ones = splat(1, array(PRED, x.shape.dims))
    inside = make("pad", ones, number(0, PRED), padding=padding)
    return make("select", inside, padded, spread(value, padded.shape.dims, (0,)))


@batches("dynamic-slice")
def dynamic_slice(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """A slice at the same place of all examples, or a gather of slices."""
    (x, *starts), sizes = operands, a.DynamicSlice.of(instr).dynamic_slice_sizes
    if not any(flag for (flag,) in flags[1:]):
        zero = number(0, starts[0].shape.element_type) if starts else number(0)
        arguments = (x, zero, *starts)
        return remade(batch, instr, arguments, dynamic_slice_sizes=(batch.size, *sizes))
    rank, is_batched = len(sizes), flags[0][0]
    return make(
        "gather",
        x,
        index_vectors(batch, starts, flags[1:]),
        offset_dims=tuple(range(1, rank + 1)),
        collapsed_slice_dims=(),
        start_index_map=after(range(rank)) if is_batched else tuple(range(rank)),
        operand_batching_dims=(0,) if is_batched else (),
        start_indices_batching_dims=(0,) if is_batched else (),
        index_vector_dim=1,
        slice_sizes=(1, *sizes) if is_batched else sizes,
    )


def index_vectors(
    batch: Batch, starts: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """The starts of each example as a row."""
    kind = max((s.shape.element_type for s in starts), key=lambda kind: kind.bits)
    columns = [to_type(s, kind) for s in batch.all(starts, flags)]
    return make("concatenate", *(to_dims(s, (batch.size, 1)) for s in columns), dimensions=(1,))


@batches("dynamic-update-slice")
def dynamic_update_slice(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """An update at the same place of all examples, or a scatter of updates, clamped."""
    (x, update), starts = batch.all(operands[:2], flags[:2]), operands[2:]
    if not any(flag for (flag,) in flags[2:]):
        zero = number(0, starts[0].shape.element_type) if starts else number(0)
        return remade(batch, instr, (x, update, zero, *starts))
    rank, rows = instr.shape.rank, index_vectors(batch, starts, flags[2:])
    kind = rows.shape.element_type
    pairs = zip(instr.shape.dims, instr.operands[1].shape.dims, strict=True)
    limits = [number(n - size, kind) for n, size in pairs]
    joined = make("concatenate", *(to_dims(n, (1,)) for n in limits), dimensions=(0,))
    highest = spread(joined, rows.shape.dims, (1,))
    inside = make("clamp", splat(0, rows.shape), rows, highest)
    return make(
        "scatter",
        x,
        inside,
        update,
        called=(replacer(x.shape.element_type),),
        update_window_dims=after(range(rank)),
        inserted_window_dims=(),
        scatter_dims_to_operand_dims=after(range(rank)),
        input_batching_dims=(0,),
        scatter_indices_batching_dims=(0,),
        index_vector_dim=1,
        unique_indices=True,
    )


@batches("gather")
def gather(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """The batch is a window dimension of one for all; else it is one of both, or of the indices."""
    attrs, ((of_array,), (of_indices,)) = a.Gather.of(instr), flags
    changes = {
        "offset_dims": after(attrs.offset_dims),
        "slice_sizes": attrs.slice_sizes,
    }
    if of_array:
        changes |= {
            "collapsed_slice_dims": after(attrs.collapsed_slice_dims),
            "start_index_map": after(attrs.start_index_map),
            "operand_batching_dims": after(attrs.operand_batching_dims),
        }
    batching = attrs.start_indices_batching_dims
    if of_indices:
        batching = after(batching)
        changes["start_indices_batching_dims"] = batching
    if of_array and of_indices:
        changes["operand_batching_dims"] = (0, *changes["operand_batching_dims"])
        changes["start_indices_batching_dims"] = (0, *batching)
        changes["slice_sizes"] = (1, *attrs.slice_sizes)
    elif of_array:
        changes["offset_dims"] = (0, *changes["offset_dims"])
        changes["slice_sizes"] = (batch.size, *attrs.slice_sizes)
    axis = attrs.index_vector_dim + of_indices
    return remade(batch, instr, operands, **changes, index_vector_dim=axis)


@batches("scatter")
def scatter(
    batch: Batch, instr: Instruction, operands: Sequence[Instruction], flags: Sequence[Flags]
) -> Instruction:
    """As of a gather; all arrays and updates are batched."""
    count = len(operands) // 2
    arrays, updates = (
        batch.all(operands[part], flags[part]) for part in (slice(count), slice(count + 1, None))
    )
    attrs, indices, (flag,) = a.Scatter.of(instr), operands[count], flags[count]
    named = fields(instr)
    for name in (
        "update_window_dims",
        "inserted_window_dims",
        "scatter_dims_to_operand_dims",
        "input_batching_dims",
    ):
        named[name] = after(named[name])
    if flag:
        named["input_batching_dims"] = (0, *named["input_batching_dims"])
        named["scatter_indices_batching_dims"] = (0, *after(attrs.scatter_indices_batching_dims))
        named["index_vector_dim"] += 1
    else:
        named["update_window_dims"] = (0, *named["update_window_dims"])
    return remade(batch, instr, (*arrays, indices, *updates), **named)
