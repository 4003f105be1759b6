"""Value numbers of each opcode's result: a function for each opcode that is not elementwise.

The order in which a fold or a contraction adds is XLA's to choose: of the same elements in the same
order, two are equal.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.attributes import Compare
from hlo.effects import has_effect
from hlo.opcode import COMPILE_TIME, GIVEN
from hlo.types.element_type import PRED
from hlo_tools.proofs.numbering import leaves, numbers, scalar_operation
from interpreter.custom_calls.placement import identity
from interpreter.custom_calls.registry import CUSTOM_CALLS
from interpreter.movement import pad
from interpreter.table import evaluates
from interpreter.windows import offsets_of, padding_of, positions_of
from optimizer.reducers import never_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo import attributes as a
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from hlo_tools.proofs.elements import Array, Ids
    from hlo_tools.proofs.numbering import Numbering, Value

# Of so many elements, all windows together, each window is looked at.
MOST_IN_WINDOWS = 1 << 16
# The path to the part of its operand that an opcode gives.
PARTS: dict[str, tuple[int, ...]] = {"async-update": (), "async-done": (1,), "copy-done": (0,)}


@numbers("constant")
def _constant(here: Numbering, instr: Instruction, attrs: a.Constant, *_: Any) -> Value:
    if attrs.literal.elided:
        return here.symbols(instr.shape, "elided", attrs.literal.first)
    return here.literal(attrs.literal.value, instr.shape)


@numbers("iota")
def _iota(here: Numbering, instr: Instruction, attrs: a.Iota, *_: Any) -> Value:
    return here.literal(evaluates["iota"](instr, attrs), instr.shape)


@numbers("tuple")
def _tuple(
    _here: Numbering, _instr: Instruction, _attrs: a.Attrs, operands: list[Value], _: int
) -> Value:
    return tuple(operands)


@numbers("get-tuple-element")
def _element(
    _here: Numbering, _instr: Instruction, attrs: a.GetTupleElement, operands: list[Value], _: int
) -> Value:
    return operands[0][attrs.index]


@numbers("call", "fusion")
def _call(
    here: Numbering, instr: Instruction, _attrs: a.Attrs, operands: list[Value], depth: int
) -> Value | None:
    return here.inlined(instr.called[0], operands, depth)


@numbers("bitcast")
def _bitcast(
    _here: Numbering, instr: Instruction, _attrs: a.Attrs, operands: list[Ids], _: int
) -> Value | None:
    source, target = instr.operands[0].shape, instr.shape
    if source.element_type is not target.element_type or source.size != target.size:
        return None
    return as_bytes_lie(source, target, operands[0])


def as_bytes_lie(source: Shape, target: Shape, operand: Array) -> Array:
    """The elements of an array under another shape with the same bytes."""
    order = target.memory_order
    in_memory = operand.transpose(source.memory_order)
    dims = [target.dims[d] for d in order]
    return in_memory.reshape(dims).transpose(np.argsort(order))


@numbers("bitcast-convert")
def _bitcast_convert(
    here: Numbering, instr: Instruction, attrs: a.Attrs, operands: list[Ids], _: int
) -> Value | None:
    if instr.shape.element_type.bits != instr.operands[0].shape.element_type.bits:
        return None
    return here.elementwise(instr, attrs, operands)


@numbers("conditional")
def _conditional(
    here: Numbering, instr: Instruction, _attrs: a.Attrs, operands: list[Value], depth: int
) -> Value | None:
    if has_effect(instr):
        return None
    index, *inputs = operands
    element_type = instr.operands[0].shape.element_type
    values = [here.computed(c, [v], depth)[0] for c, v in zip(instr.called, inputs, strict=True)]
    if element_type is PRED:
        return here.select(index, values[0], values[1], instr.shape)
    chosen = values[-1]
    for n, value in enumerate(values[:-1]):
        number = here.elements.constants(np.array([n], element_type.dtype), element_type)
        step = scalar_operation("compare", Compare(direction="EQ"), [element_type] * 2, PRED)
        taken = here.elementwise(step, step.attrs, [index, number.reshape(())])
        chosen = here.select(taken, value, chosen, instr.shape)
    return chosen


@numbers("async-start")
def _async_start(
    here: Numbering, instr: Instruction, _attrs: a.Attrs, operands: list[Value], depth: int
) -> Value | None:
    if not instr.called or any(map(has_effect, instr.called[0].instructions)):
        return None
    if len(instr.called[0].parameters) != len(operands):
        return None
    rest = [here.symbols(e, "context") for e in instr.shape.elements[2:]]
    return (tuple(operands), here.computed(instr.called[0], operands, depth)[0], *rest)


@numbers("copy-start")
def _copy_start(
    here: Numbering, instr: Instruction, _attrs: a.Attrs, operands: list[Value], _: int
) -> Value:
    return (operands[0], operands[0], here.symbols(instr.shape.elements[2], "context"))


@numbers(*PARTS)
def _part(
    _here: Numbering, instr: Instruction, _attrs: a.Attrs, operands: list[Value], _: int
) -> Value:
    value = operands[0]
    for index in PARTS[instr.opcode]:
        value = value[index]
    return value


@numbers("custom-call")
def _custom_call(
    _here: Numbering, instr: Instruction, attrs: a.CustomCall, operands: list[Value], _: int
) -> Value | None:
    """A value whose call only says where it is to be."""
    is_same = CUSTOM_CALLS.get(attrs.custom_call_target) is identity and len(operands) == 1
    if not is_same or has_effect(instr) or not instr.shape.compatible(instr.operands[0].shape):
        return None
    return operands[0]


@numbers("map")
def _map(
    here: Numbering, instr: Instruction, _attrs: a.Attrs, operands: list[Ids], depth: int
) -> Value | None:
    body = instr.called[0]
    if not all(i.row.elementwise or i.opcode in GIVEN | COMPILE_TIME for i in body.instructions):
        return None
    value: Ids = here.computed(body, operands, depth)[0]
    return np.broadcast_to(value, instr.shape.dims)


@numbers("reduce")
def _reduce(
    here: Numbering, instr: Instruction, attrs: a.Dimensions, operands: list[Ids], depth: int
) -> Value:
    half = len(operands) // 2
    dims_left = [d for d in range(operands[0].ndim) if d not in attrs.dimensions]
    dims = [operands[0].shape[d] for d in dims_left]
    order = [*dims_left, *sorted(attrs.dimensions)]
    count = prod(operands[0].shape[d] for d in attrs.dimensions)
    rows = [x.transpose(order).reshape(prod(dims), count) for x in operands[:half]]
    initial = [np.broadcast_to(x, (prod(dims),)) for x in operands[half:]]
    rows_folded = folded_rows(here, instr, initial, rows, depth)
    values = tuple(np.broadcast_to(x, (prod(dims),)).reshape(dims) for x in rows_folded)
    return values if instr.shape.is_tuple else values[0]


def folded_rows(
    here: Numbering, instr: Instruction, initial: Sequence[Ids], rows: Sequence[Ids], depth: int
) -> list[Ids]:
    """The folds of the rows of matrices by an instruction's computation, each from its start."""
    body, count = instr.called[0], rows[0].shape[1]
    if count <= 1:
        elements = [row.reshape(-1) for row in rows]
        value = here.computed(body, [*initial, *elements], depth)[0] if count else tuple(initial)
        return list(leaves(value))
    if never_rounds(body, body.root):
        rows = [np.sort(rows[0], axis=1)]
    together = np.concatenate([np.stack(initial, axis=1), *rows], axis=1)
    key = ("reduce", here.body(body, depth), len(initial))
    types = [x.shape.element_type for x in instr.operands[: len(initial)]]
    return [here.elements.of_rows((*key, n, t), t, together) for n, t in enumerate(types)]


@numbers("reduce-window")
def _reduce_window(
    here: Numbering, instr: Instruction, attrs: a.Windowed, operands: list[Ids], depth: int
) -> Value | None:
    """Each window as the fold of a row: its elements in order, without the padding."""
    half, window = len(operands) // 2, attrs.window
    counts = positions_of(operands[0], window)
    if prod(counts) * prod(w.size for w in window) > MOST_IN_WINDOWS or not prod(counts):
        return None
    around = np.array(-1)
    padded = [np.asarray(pad(x, around, padding_of(window))) for x in operands[:half]]
    places = list(offsets_of(window, counts))
    rows = [np.stack([x[at].reshape(-1) for at in places], axis=1) for x in padded]
    inside = rows[0] >= 0
    sizes = inside.sum(axis=1)
    folded = [np.empty(prod(counts), np.int64) for _ in range(half)]
    for size in np.unique(sizes):
        which = sizes == size
        own = [row[which][inside[which]].reshape(which.sum(), size) for row in rows]
        initial = [np.broadcast_to(x, (len(own[0]),)) for x in operands[half:]]
        for all_of, some in zip(folded, folded_rows(here, instr, initial, own, depth), strict=True):
            all_of[which] = some
    values = tuple(x.reshape(counts) for x in folded)
    return values if instr.shape.is_tuple else values[0]


@numbers("dot")
def _dot(
    here: Numbering, instr: Instruction, attrs: a.DotDims, operands: list[Ids], _: int
) -> Value | None:
    x, y = operands
    if not x.size or not y.size:
        return None
    # Which of the summed dimensions comes first is left open; the left side's order decides.
    summed = sorted(zip(attrs.lhs_contracting_dims, attrs.rhs_contracting_dims, strict=True))
    left = rows_of(here, x, attrs.lhs_batch_dims, [pair[0] for pair in summed])
    right = rows_of(here, y, attrs.rhs_batch_dims, [pair[1] for pair in summed])
    pairs = np.broadcast_arrays(left[:, :, None], right[:, None, :])
    first, second = (pair.reshape(-1) for pair in pairs)
    types = [operand.shape.element_type for operand in instr.operands]
    if types[0] is types[1] and len(set(attrs.operand_precision)) <= 1:
        first, second = np.minimum(first, second), np.maximum(first, second)
    key = ("dot", *types, instr.shape.element_type, attrs.algorithm, attrs.operand_precision)
    ids = here.elements.number(key, instr.shape.element_type, first, second)
    return ids.reshape(instr.shape.dims)


def rows_of(here: Numbering, x: Ids, batch: Sequence[int], summed: Sequence[int]) -> Ids:
    """The numbers of the rows over which a dot sums: by batch, and by the other dimensions."""
    free = [d for d in range(x.ndim) if d not in batch and d not in summed]
    count = prod(x.shape[d] for d in summed)
    batches = prod(x.shape[d] for d in batch)
    rows = x.transpose([*batch, *free, *summed]).reshape(x.size // count, count)
    return here.elements.of_rows(("elements of a row",), None, rows).reshape(batches, -1)
