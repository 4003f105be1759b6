"""Collectives: operations in which a group of devices takes part together.

Each device brings its operands to a rendezvous of its group, sees what the others brought, and
computes its own result from that. See `interpreter.groups` for who is in a group, and
`interpreter.engine.lockstep` for how devices wait.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.attributes import AllGather, AllToAll, RaggedAllToAll, ReduceScatter
from hlo.errors.error import HloError
from hlo.wording import counted
from interpreter.groups import find_group, group_of, permute_pairs
from interpreter.lift import as_tuple, lifted
from interpreter.plumbing import CONTEXT
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo import attributes as a
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from interpreter.engine.frame import Frame
    from interpreter.engine.lockstep import Communicating
    from interpreter.table import Value

    Array = NDArray[Any]


def exchange(
    frame: Frame, instr: Instruction, channel: int | None, group: tuple[int, ...], value: Value
) -> list[Value]:
    """The operands that each device of a group brings to a collective, in the group's order.

    Instructions of one channel are one collective; so are those without a channel, in the order
    in which devices run them. So two branches of a conditional can meet.

    Raises
    ------
    HloError
        HLO117 if a device never comes, HLO118 if one comes with something else.
    """
    brought = frame.device.lockstep.meet(frame.device.number, instr, group, channel, value)
    return [brought[member] for member in group]


def _gathered(
    frame: Frame, instr: Instruction, attrs: a.Collective, operands: tuple[Array, ...]
) -> tuple[list[tuple[Array, ...]], int]:
    """For each operand the members' arrays, in order; and this device's position among them."""
    group = group_of(frame.device, instr, attrs)
    brought = exchange(frame, instr, attrs.channel_id, group, operands)
    return list(zip(*brought, strict=True)), group.index(frame.device.number)


def _one_or_tuple(instr: Instruction, values: Sequence[Value]) -> Value:
    return tuple(values) if instr.shape.is_tuple else values[0]


def _declared(instr: Instruction, shape: Shape, values: Sequence[Array], count: int) -> None:
    """See that a group of so many devices makes arrays of the sizes that the module says.

    Raises
    ------
    HloError
        HLO119 if it doesn't: the module was written for groups of another size.
    """
    for value, (_, leaf) in zip(values, shape.leaves(), strict=True):
        _check_size(instr, leaf, value.shape, count)


def _check_size(instr: Instruction, leaf: Shape, dims: tuple[int, ...], count: int) -> None:
    if dims != leaf.dims and not leaf.is_dynamic:
        size = leaf.with_dims(dims).text_without_layout
        message = f"{instr.name}: groups of {count} make {size}, not {leaf.text_without_layout}"
        raise HloError("HLO119", message, instr.span)


def _piece(instr: Instruction, x: Array, count: int, along: int, number: int) -> Array:
    """One of so many equal pieces.

    Raises
    ------
    HloError
        HLO119 if there are no such pieces.
    """
    size = _piece_size(instr, x.shape[along], count, along)
    return x.take(range(number * size, (number + 1) * size), along)


def _piece_size(instr: Instruction, size: int, count: int, along: int) -> int:
    """The size of each of so many equal pieces of a dimension."""
    if size % count:
        message = f"{instr.name}: dimension {along} of size {size} has no {count} pieces"
        raise HloError("HLO119", message, instr.span)
    return size // count


def check_sizes(instr: Instruction, count: int) -> None:
    """See that a group of so many devices makes arrays of the sizes that the module says.

    Raises
    ------
    HloError
        HLO119 if it doesn't: the module was written for groups of another size.
    """
    attrs = instr.attrs
    if isinstance(attrs, RaggedAllToAll):
        _check_slices(instr, instr.operands[2].shape.size, count)
    if isinstance(attrs, AllToAll) and not attrs.dimensions:
        _check_pieces(instr, len(instr.operands), count)
    if not isinstance(attrs, AllGather | ReduceScatter | AllToAll) or not attrs.dimensions:
        return
    along = attrs.dimensions[0]
    result = instr.shape.elements[1] if instr.opcode == "all-gather-start" else instr.shape
    for operand, (_, leaf) in zip(instr.operands, result.leaves(), strict=True):
        dims = list(operand.shape.dims)
        if isinstance(attrs, AllGather):
            dims[along] *= count
        else:
            piece = _piece_size(instr, dims[along], count, along)
            dims[along] = piece if isinstance(attrs, ReduceScatter) else dims[along]
        _check_size(instr, leaf, tuple(dims), count)


def _check_pieces(instr: Instruction, pieces: int, count: int) -> None:
    """See that each member of a group has a piece for each other one."""
    if pieces != count:
        exchanged = counted(count, "piece")
        message = f"{instr.name}: groups of {count} exchange {exchanged}, not {pieces}"
        raise HloError("HLO119", message, instr.span)


def _check_slices(instr: Instruction, slices: int, count: int) -> None:
    """See that each member of a group has equally many slices for each other one."""
    if slices % count:
        message = f"{instr.name}: {slices} slices for a group of {counted(count, 'device')}"
        raise HloError("HLO119", message, instr.span)


def no_member(instr: Communicating, root: int, count: int) -> HloError:
    """The error for a broadcast's root that is no member of the group."""
    message = f"{instr.name}: member {root} sends, of a group of {counted(count, 'device')}"
    return HloError("HLO119", message, instr.span)


def rows_out_of_place(instr: Communicating, size: int, start: int, target: int) -> HloError:
    """The error for rows that do not exist, or have no place where they are sent."""
    message = f"{instr.name}: {size} rows from {start} on do not go to {target}"
    return HloError("HLO123", message, instr.span)


def slice_out_of_place(instr: Communicating, size: int, start: int, whole: int) -> HloError:
    """The error for a slice that does not lie in its array."""
    message = f"{instr.name}: a slice of {size} from {start} on, of a dimension of {whole}"
    return HloError("HLO123", message, instr.span)


def _summed(
    frame: Frame, instr: Instruction, attrs: a.Collective, operands: tuple[Array, ...]
) -> tuple[list[Array], int, int]:
    """Each operand folded over the group; this device's position in it, and the group's size.

    The group's order is the order of folding; XLA leaves it open.
    """
    columns, position = _gathered(frame, instr, attrs, operands)

    def fold(x: Array, y: Array) -> Array:
        return lifted(frame, instr.called[0], x, y)[0]

    return [reduce(fold, column) for column in columns], position, len(columns[0])


@evaluates("all-reduce", "all-reduce-start", xla="AllReduce")
def evaluate_all_reduce(
    frame: Frame, instr: Instruction, attrs: a.AllReduce, *operands: Array
) -> Value:
    """Fold the group's operands, element by element, with a computation of two scalars.

    Returns
    -------
    Array or tuple of Array
        for each operand one of its shape, the same on all members.
    """
    return _one_or_tuple(instr, _summed(frame, instr, attrs, operands)[0])


@evaluates("reduce-scatter", xla="ReduceScatter")
def evaluate_reduce_scatter(
    frame: Frame, instr: Instruction, attrs: a.ReduceScatter, *operands: Array
) -> Value:
    """Fold the group's operands as all-reduce does, and keep this member's piece of the result.

    Returns
    -------
    Array or tuple of Array
        dimension dimensions[0] divided by the group's size; the i-th member has the i-th piece.
    """
    sums, position, count = _summed(frame, instr, attrs, operands)
    pieces = [_piece(instr, s, count, attrs.dimensions[0], position) for s in sums]
    _declared(instr, instr.shape, pieces, count)
    return _one_or_tuple(instr, pieces)


def _all_gather(
    frame: Frame, instr: Instruction, attrs: a.AllGather, shape: Shape, operands: tuple[Array, ...]
) -> list[Array]:
    columns, _ = _gathered(frame, instr, attrs, operands)
    gathered = [np.concatenate(column, attrs.dimensions[0]) for column in columns]
    _declared(instr, shape, gathered, len(columns[0]))
    return gathered


@evaluates("all-gather", xla="AllGather")
def evaluate_all_gather(
    frame: Frame, instr: Instruction, attrs: a.AllGather, *operands: Array
) -> Value:
    """Join the group's operands along a dimension, in the group's order."""
    return _one_or_tuple(instr, _all_gather(frame, instr, attrs, instr.shape, operands))


@evaluates("all-gather-start", xla="AllGather; HloInstruction in XLA, kAllGatherStart")
def evaluate_all_gather_start(
    frame: Frame, instr: Instruction, attrs: a.AllGather, *operands: Array
) -> Value:
    """The operands and the results of all-gather; each a tuple, if there are several."""
    results = tuple(_all_gather(frame, instr, attrs, instr.shape.elements[1], operands))
    return (operands, results) if instr.shape.elements[1].is_tuple else (operands[0], results[0])


@evaluates("all-to-all", xla="AllToAll")
def evaluate_all_to_all(
    frame: Frame, instr: Instruction, attrs: a.AllToAll, *operands: Array
) -> Value:
    """Send the j-th piece to the j-th member of the group, and get a piece from each.

    With `dimensions` the pieces are cut from one array, and joined again, along dimensions[0].
    Without, each operand is a piece, and so is each element of the result.
    """
    columns, position = _gathered(frame, instr, attrs, operands)
    count = len(columns[0])
    if not attrs.dimensions:
        _check_pieces(instr, len(columns), count)
        return _one_or_tuple(instr, columns[position])
    along = attrs.dimensions[0]
    pieces = [[_piece(instr, x, count, along, position) for x in column] for column in columns]
    gathered = [np.concatenate(column, along) for column in pieces]
    _declared(instr, instr.shape, gathered, count)
    return _one_or_tuple(instr, gathered)


@evaluates("ragged-all-to-all", xla="RaggedAllToAll")
def evaluate_ragged_all_to_all(
    frame: Frame, instr: Instruction, attrs: a.RaggedAllToAll, *operands: Array
) -> Array:
    """Send slices of rows, whose offsets and sizes come at run time, between all members.

    Parameters
    ----------
    operands : input; output, of which what nobody writes is kept; and four vectors with n entries
        for each member of the group, in order: where a slice begins in this input, how many rows
        it has, where it goes in the member's output, how many rows come from that member.

    Raises
    ------
    HloError
        HLO119 if the members do not have equally many slices, HLO123 if a slice does not lie in the
        input, or does not fit into the output.
    """
    group = group_of(frame.device, instr, attrs)
    brought = exchange(frame, instr, attrs.channel_id, group, operands)
    position = group.index(frame.device.number)
    result = operands[1].copy()
    _check_slices(instr, operands[2].size, len(group))
    for rows, _, starts, sizes, targets, _ in brought:
        own = (column.reshape(len(group), -1)[position] for column in (starts, sizes, targets))
        for start, size, target in zip(*own, strict=True):
            inside = 0 <= start <= len(rows) - size and 0 <= target <= len(result) - size
            if size < 0 or (size and not inside):
                raise rows_out_of_place(instr, size, start, target)
            result[target : target + size] = rows[start : start + size]
    return result


@evaluates("collective-broadcast", xla="CollectiveBroadcast")
def evaluate_collective_broadcast(
    frame: Frame, instr: Instruction, attrs: a.CollectiveBroadcast, *operands: Array
) -> Value:
    """The operands of the first member of each group; zeros on devices without a group.

    With `has_dynamic_root`, the last operand is the position in the group of the member that sends.
    """
    group = find_group(frame.device, instr, attrs)
    data = operands[:-1] if attrs.has_dynamic_root else operands
    if not group:
        return _one_or_tuple(instr, [np.zeros_like(x) for x in data])
    brought = exchange(frame, instr, attrs.channel_id, group, operands)
    root = int(operands[-1]) if attrs.has_dynamic_root else 0
    if not 0 <= root < len(group):
        raise no_member(instr, root, len(group))
    return _one_or_tuple(instr, brought[root][: len(data)])


@evaluates("collective-permute", xla="CollectivePermute")
def evaluate_collective_permute(
    frame: Frame, instr: Instruction, attrs: a.CollectivePermute, *operands: Value
) -> Value:
    """Send operands from sources to targets; a device that is no target gets zeros.

    With four operands (input, output, offsets in the input, offsets in the output), only slices of
    `slice_sizes` are sent, and go to their offsets in the output; see `_permute_slices`.
    """
    pairs = permute_pairs(frame.device, attrs)
    members = tuple(sorted({device for pair in pairs for device in pair}))
    me = frame.device.number
    brought: dict[int, Any] = {}
    if me in members:
        values = exchange(frame, instr, attrs.channel_id, members, operands)
        brought = dict(zip(members, values, strict=True))
    if attrs.slice_sizes:
        return _permute_slices(instr, attrs, pairs, me, brought, operands)
    source = next((s for s, t in pairs if t == me), None)
    nothing = tuple(np.zeros_like(x) for x in operands)
    received = nothing if source is None else brought[source]
    return received[0] if len(operands) == 1 else received


def _permute_slices(
    instr: Instruction,
    attrs: a.CollectivePermute,
    pairs: tuple[tuple[int, int], ...],
    me: int,
    brought: dict[int, Any],
    operands: tuple[Value, ...],
) -> Value:
    """The output, with the slices that others send, each at its offset.

    The k-th slice of each buffer goes to the k-th target of its source. A device says itself
    where its slices go, in the output of their target.

    Raises
    ------
    HloError
        HLO123 if a slice does not lie in its buffer.
    """
    outputs = [np.array(x) for x in as_tuple(operands[1])]
    sources: dict[int, int] = {}
    for source, target in pairs:
        number = sources[source] = sources.get(source, -1) + 1
        if target != me:
            continue
        inputs, _, reads, writes = brought[source]
        sizes = iter(attrs.slice_sizes)
        starts = zip(_starts(operands[0], reads), _starts(operands[1], writes), strict=True)
        for array, output, (read, write) in zip(as_tuple(inputs), outputs, starts, strict=True):
            for k, (start, to) in enumerate(zip(read, write, strict=True)):
                size = next(sizes)
                if k == number or len(read) == 1:
                    for where, whole in ((start, array), (to, output)):
                        _expect_inside(instr, where, size, whole)
                    output[_region(to, size)] = array[_region(start, size)]
    return tuple(outputs) if instr.operands[1].shape.is_tuple else outputs[0]


def _expect_inside(
    instr: Instruction, start: Sequence[Array], size: Sequence[int], array: Array
) -> None:
    for first, n, whole in zip(start, size, array.shape, strict=True):
        if not 0 <= first <= whole - n:
            raise slice_out_of_place(instr, n, int(first), whole)


def _starts(buffers: Value, starts: tuple[Any, ...]) -> list[list[tuple[Array, ...]]]:
    """For each buffer the starts of its slices; one slice may be without its list."""
    buffers_of: list[Any] = list(starts) if isinstance(buffers, tuple) else [starts]
    return [list(s) if isinstance(s[0], tuple) else [s] for s in buffers_of]


def _region(start: Sequence[Array], size: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(int(s), int(s) + n) for s, n in zip(start, size, strict=True))


@evaluates("collective-permute-start", xla="HloInstruction in XLA, kCollectivePermuteStart")
def evaluate_collective_permute_start(
    frame: Frame, instr: Instruction, attrs: a.CollectivePermute, *operands: Value
) -> Value:
    """The operand, the result of collective-permute, and contexts without meaning.

    In the form with four operands, the input, the output, and contexts. XLA also lets an
    instruction pass that yields the result alone.
    """
    result = evaluate_collective_permute(frame, instr, attrs, *operands)
    if not instr.shape.is_tuple:
        return result
    variadic = instr.shape.elements[0].is_tuple and not attrs.slice_sizes
    first = operands if variadic else operands[0]
    return first, result, *(CONTEXT for _ in instr.shape.elements[2:])
