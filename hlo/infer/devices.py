"""Shapes of collectives, and of exchanges with the host.

By what a gathered or scattered dimension grows or shrinks depends on the number of devices in a
group, which the text of an instruction alone need not tell. It follows from the declared shape; the
verifier compares it with the groups.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo.infer.checks import (
    compatible,
    expect_array,
    expect_dimensions,
    expect_kinds,
    expect_same_dims,
    expect_same_type,
    expect_scalar,
    expect_token,
    show,
    sizes_agree,
    tuple_or_one,
)
from hlo.infer.table import infers
from hlo.types.element_type import U32
from hlo.types.shape import TOKEN_SHAPE, UNBOUNDED, Shape, array, tuple_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo import attributes as a
    from hlo.instruction import Instruction
    from hlo.types.sharding import ReplicaGroups


def _expect_operands(operands: Sequence[Shape]) -> None:
    """HLO024 unless there is an operand, HLO025 unless all are arrays."""
    if not operands:
        raise HloError("HLO024", "takes at least 1 operand")
    expect_array(*operands)


def _only_dimension(attrs: a.AllGather | a.ReduceScatter, operands: Sequence[Shape]) -> int:
    """The one dimension that is joined or cut, which every operand has."""
    if len(attrs.dimensions) != 1:
        raise HloError("HLO028", f"takes 1 dimension, not {len(attrs.dimensions)}")
    for operand in operands:
        expect_dimensions("dimensions", attrs.dimensions, operand.rank)
    return attrs.dimensions[0]


def shard_count(
    attrs: a.AllGather | a.ReduceScatter, whole: Shape | None, part: Shape | None
) -> int:
    """The number of shards along a dimension: by the shapes, else by the groups."""
    dim = attrs.dimensions[0]
    known = [s for s in (whole, part) if s is not None and s.is_array and s.rank > dim]
    if len(known) == 2 and known[1].dims[dim] > 0:
        return max(1, -(-known[0].dims[dim] // known[1].dims[dim]))
    return max(1, _group_size(attrs.replica_groups))


def _group_size(groups: ReplicaGroups) -> int:
    """The number of devices in the first group; 1 where the text does not say."""
    if groups.tiles is not None:
        return groups.tiles.dims[-1] if groups.tiles.dims else 1
    if groups.mesh is not None:
        sizes = dict(groups.mesh.axes)
        return prod(axis.size or sizes.get(axis.name, 1) for axis in groups.axes)
    return len(groups.lists[0]) if groups.lists else 1


def _first_array(shape: Shape) -> Shape | None:
    """The shape, or the first element of a tuple; None if that is no array."""
    first = shape.elements[0] if shape.elements else shape
    return first if first.is_array else None


def _resized(shape: Shape, dim: int, size: int) -> Shape:
    dims = (*shape.dims[:dim], size, *shape.dims[dim + 1 :])
    return array(shape.element_type, dims, shape.dynamic)


def _gathered(attrs: a.AllGather, declared: Shape, operands: Sequence[Shape]) -> Shape:
    """The operands, each several times as long in the joined dimension."""
    _expect_operands(operands)
    dim = _only_dimension(attrs, operands)
    count = shard_count(attrs, _first_array(declared), operands[0])
    return tuple_or_one(
        [
            _resized(o, dim, UNBOUNDED if o.dims[dim] == UNBOUNDED else o.dims[dim] * count)
            for o in operands
        ]
    )


@infers("all-gather", xla="ShapeInference::InferAllGatherShape")
def infer_all_gather(instr: Instruction, attrs: a.AllGather, *operands: Shape) -> Shape:
    """The operands, each as many times as long in one dimension as a group has devices."""
    return _gathered(attrs, instr.shape, operands)


@infers("all-gather-start", xla="ShapeInference::InferAllGatherStartShape")
def infer_all_gather_start(instr: Instruction, attrs: a.AllGather, *operands: Shape) -> Shape:
    """(operands, results of all-gather)."""
    declared = instr.shape.elements[1] if len(instr.shape.elements) > 1 else instr.shape
    gathered = _gathered(attrs, declared, operands)
    return tuple_of(tuple_or_one(operands), gathered)


@infers("all-gather-done", xla="ShapeInference::InferAllGatherDoneShape")
def infer_all_gather_done(_instr: Instruction, _attrs: a.Attrs, started: Shape) -> Shape:
    """The second element of the start's result."""
    if len(started.elements) < 2:
        raise HloError("HLO071", f"takes what all-gather-start yields, not {show(started)}")
    return started.elements[1]


@infers("all-reduce", "all-reduce-start", xla="ShapeInference::InferAllReduceShape")
def infer_all_reduce(_instr: Instruction, _attrs: a.AllReduce, *operands: Shape) -> Shape:
    """The operands' shapes."""
    _expect_operands(operands)
    return tuple_or_one(operands)


@infers("all-reduce-done", xla="ShapeInference::InferAllReduceDoneShape")
def infer_all_reduce_done(_instr: Instruction, _attrs: a.Attrs, started: Shape) -> Shape:
    """The shape of the all-reduce-start that it finishes."""
    return started


@infers("reduce-scatter", xla="ShapeInference::InferReduceScatterShape")
def infer_reduce_scatter(instr: Instruction, attrs: a.ReduceScatter, *operands: Shape) -> Shape:
    """The operands, each as many times shorter in one dimension as a group has devices."""
    _expect_operands(operands)
    dim = _only_dimension(attrs, operands)
    count = shard_count(attrs, operands[0], _first_array(instr.shape))
    shapes: list[Shape] = []
    for operand in operands:
        size = operand.dims[dim]
        if size != UNBOUNDED and size % count:
            raise HloError("HLO029", f"dimension {dim} of {show(operand)} in {count} parts")
        shapes.append(_resized(operand, dim, UNBOUNDED if size == UNBOUNDED else size // count))
    return tuple_or_one(shapes)


@infers("all-to-all", xla="ShapeInference::InferAllToAllShape and InferAllToAllTupleShape")
def infer_all_to_all(instr: Instruction, attrs: a.AllToAll, *operands: Shape) -> Shape:
    """A tuple of the operands; in the array form the one operand's shape."""
    _expect_operands(operands)
    if attrs.dimensions is not None:
        if len(operands) != 1 or len(attrs.dimensions) != 1:
            raise HloError("HLO028", "takes 1 operand and 1 dimension in its array form")
        expect_dimensions("dimensions", attrs.dimensions, operands[0].rank)
        return operands[0]
    for operand in operands:
        expect_same_dims(operands[0], operand)
        expect_same_type(operands[0], operand)
    # XLA yields a tuple even of a single operand, but accepts the array that some write.
    is_one = len(operands) == 1 and instr.shape.is_array
    return operands[0] if is_one else tuple_of(*operands)


@infers("ragged-all-to-all", xla="ShapeInference::InferRaggedAllToAllShape")
def infer_ragged_all_to_all(
    _instr: Instruction,
    _attrs: a.RaggedAllToAll,
    operand: Shape,
    output: Shape,
    *tables: Shape,
) -> Shape:
    """The shape of the second operand, into which the pieces are put."""
    expect_same_type(operand, output)
    rows = operand.dims[1:], output.dims[1:]
    if not (operand.rank == output.rank > 0 and all(map(sizes_agree, *rows))):
        raise HloError("HLO029", f"rows of {show(operand)} have no place in {show(output)}")
    for table in tables:
        expect_kinds(table, "signed", "unsigned")
        expect_same_dims(tables[0], table)
        if table.rank not in (1, 2):
            raise HloError("HLO028", f"offsets and sizes have 1 or 2 dimensions: {show(table)}")
    return output


@infers("collective-broadcast", xla="ShapeInference::InferCollectiveBroadcastShape")
def infer_collective_broadcast(
    _instr: Instruction, attrs: a.CollectiveBroadcast, *operands: Shape
) -> Shape:
    """The operands' shapes, save that of a root, which comes last."""
    if attrs.has_dynamic_root and operands:
        operands, root = operands[:-1], operands[-1]
        expect_scalar(root, "the root")
        expect_kinds(root, "signed", "unsigned")
    _expect_operands(operands)
    return tuple_or_one(operands)


def _expect_permuted(attrs: a.CollectivePermute, operands: Sequence[Shape]) -> None:
    """HLO024 unless there are operands, and four in the form that works in place."""
    if not operands or (attrs.slice_sizes and len(operands) != 4):
        raise HloError("HLO024", f"takes operands, and 4 with slice_sizes, not {len(operands)}")
    if attrs.slice_sizes:
        source, target, source_offsets, target_offsets = operands
        if len(source.elements) != len(target.elements):
            raise HloError("HLO021", f"{show(source)} and {show(target)} are not put together")
        _expect_offsets(source, source_offsets)
        _expect_offsets(target, target_offsets)


def _expect_offsets(buffers: Shape, offsets: Shape) -> None:
    """An offset in each dimension of each array, or several such offsets."""
    pairs = [(buffers, offsets)]
    if buffers.is_tuple:
        if len(offsets.elements) != len(buffers.elements):
            raise HloError("HLO028", f"offsets {show(offsets)} for {show(buffers)}")
        pairs = list(zip(buffers.elements, offsets.elements, strict=True))
    for buffer, start in pairs:
        listed = start.elements if start.elements and start.elements[0].is_tuple else (start,)
        if any(len(offset.elements) != buffer.rank for offset in listed):
            raise HloError("HLO028", f"offsets {show(start)} for {show(buffer)}")
    if any(leaf.is_array and not leaf.element_type.is_integer for _, leaf in offsets.leaves()):
        raise HloError("HLO022", f"offsets are integers, not {show(offsets)}")


@infers("collective-permute", xla="ShapeInference::InferCollectivePermuteShape")
def infer_collective_permute(
    _instr: Instruction, attrs: a.CollectivePermute, *operands: Shape
) -> Shape:
    """The operands' shapes; in the form that works in place the second operand's."""
    _expect_permuted(attrs, operands)
    if attrs.slice_sizes:
        return operands[1]
    expect_array(*operands)
    return tuple_or_one(operands)


@infers("collective-permute-start", xla="ShapeInference::InferCollectivePermuteStartShape")
def infer_collective_permute_start(
    instr: Instruction, attrs: a.CollectivePermute, *operands: Shape
) -> Shape:
    """(operands, results, and the contexts that a backend declares)."""
    _expect_permuted(attrs, operands)
    # An older form has the value of the permute itself.
    if instr.shape.is_array:
        return tuple_or_one(operands)
    context = instr.shape.elements[2:]
    if attrs.slice_sizes:
        return tuple_of(operands[0], operands[1], *context)
    result = tuple_or_one(operands)
    return tuple_of(result, result, *context)


@infers("collective-permute-done", xla="ShapeInference::InferCollectivePermuteDoneShape")
def infer_collective_permute_done(_instr: Instruction, _attrs: a.Attrs, started: Shape) -> Shape:
    """The second element of the start's result."""
    if started.is_array:
        return started
    if len(started.elements) < 2:
        raise HloError("HLO071", f"takes what collective-permute-start yields, not {show(started)}")
    return started.elements[1]


@infers("send", xla="ShapeVerifier::HandleSend")
def infer_send(_instr: Instruction, _attrs: a.Channel, operand: Shape, _token: Shape) -> Shape:
    """(data, u32 context, token); XLA lets it wait for a value of any shape."""
    return tuple_of(operand, array(U32), TOKEN_SHAPE)


@infers("send-done", xla="ShapeVerifier::HandleSendDone")
def infer_send_done(_instr: Instruction, _attrs: a.Channel, _started: Shape) -> Shape:
    """A token."""
    return TOKEN_SHAPE


@infers("recv", xla="ShapeVerifier::HandleRecv")
def infer_recv(instr: Instruction, _attrs: a.Channel, _token: Shape) -> Shape:
    """(declared data, u32 context, token)."""
    if not instr.shape.elements:
        raise HloError("HLO030", f"yields (data, u32[], token[]), not {show(instr.shape)}")
    return tuple_of(instr.shape.elements[0], array(U32), TOKEN_SHAPE)


@infers("recv-done", xla="ShapeVerifier::HandleRecvDone")
def infer_recv_done(_instr: Instruction, _attrs: a.Channel, started: Shape) -> Shape:
    """A tuple of the data and a token."""
    if not started.elements:
        raise HloError("HLO071", f"takes what recv yields, not {show(started)}")
    return tuple_of(started.elements[0], TOKEN_SHAPE)


@infers("infeed", xla="ShapeVerifier::HandleInfeed")
def infer_infeed(instr: Instruction, _attrs: a.Infeed, token: Shape) -> Shape:
    """(declared data, token)."""
    expect_token(token)
    if len(instr.shape.elements) != 2:
        raise HloError("HLO030", f"yields (data, token[]), not {show(instr.shape)}")
    return tuple_of(instr.shape.elements[0], TOKEN_SHAPE)


@infers("outfeed", xla="ShapeVerifier::HandleOutfeed")
def infer_outfeed(_instr: Instruction, attrs: a.Outfeed, operand: Shape, token: Shape) -> Shape:
    """A token."""
    expect_token(token)
    if attrs.outfeed_shape is not None and not compatible(attrs.outfeed_shape, operand):
        raise HloError(
            "HLO029", f"outfeed_shape is {show(attrs.outfeed_shape)}, but gets {show(operand)}"
        )
    return TOKEN_SHAPE
