"""Indexing maps: opcodes that move elements become index arithmetic.

Each function is given the index of an element of the result, and asks for the operand's element
that stands there. Nothing is copied; what the maps compose to is simplified in
`codegen.indexing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from codegen.elements.constants import literal_of
from codegen.elements.table import Element, elements
from codegen.elements.types import literal, narrowed, wide
from codegen.expressions import (
    NEVER,
    Cast,
    Choose,
    Expr,
    Literal,
    Name,
    binary,
    grouped,
    indexed,
)
from codegen.indexing import Index, Sum, Within, bounded, delinear, linear, unknown
from codegen.opcodes.bits import joined_parts, part_of, reinterpreted
from codegen.statements import If
from hlo import attributes as a
from hlo.types.element_type import ELEMENT_TYPES
from interpreter.conversion import integer_range

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.body import Body, Values
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


Write = TypeVar("Write", bound="Callable[..., Expr | Values]")


def define(*opcodes: str) -> Callable[[Write], Write]:
    """Enter a function into the table as an element function."""

    def enter(write: Write) -> Write:
        for opcode in opcodes:
            elements.define(opcode, Element(write))
        return write

    return enter


@define("copy", "opt-barrier", "domain", "add-dependency")
def write_identity(body: Body, instr: Instruction, index: Index) -> Values:
    """The operand's element at the same index."""
    return body.elements(instr.operands[0], index)


@define("constant")
def write_constant(body: Body, instr: Instruction, index: Index) -> Expr:
    """A number where all elements are one, else a load from the constant's array."""
    literal, constants = literal_of(instr), body.writer.constants
    number = constants.scalar(literal)
    if number is not None:
        return number
    pointer = constants.pointer(literal, instr.name)
    return body.loaded(instr.shape, Name(pointer), index, instr.name)[0]


@define("iota")
def write_iota(_body: Body, instr: Instruction, index: Index) -> Expr:
    """The index itself, along one dimension."""
    attrs = a.Iota.of(instr)
    element_type = instr.shape.element_type
    place = indexed(index[attrs.iota_dimension])
    return narrowed(element_type, Cast(wide(element_type), grouped(place)))


@define("broadcast")
def write_broadcast(body: Body, instr: Instruction, index: Index) -> Expr:
    """Operand dimension i is result dimension dimensions[i]."""
    attrs = a.Broadcast.of(instr)
    return body.element(instr.operands[0], tuple(index[d] for d in attrs.dimensions))


@define("reshape")
def write_reshape(body: Body, instr: Instruction, index: Index) -> Expr:
    """The element with the same row-major number."""
    operand = instr.operands[0]
    return body.element(operand, delinear(linear(index, instr.shape.dims), operand.shape.dims))


@define("transpose")
def write_transpose(body: Body, instr: Instruction, index: Index) -> Expr:
    """Result dimension i is operand dimension dimensions[i]."""
    attrs = a.Dimensions.of(instr)
    place = {d: index[i] for i, d in enumerate(attrs.dimensions)}
    return body.element(instr.operands[0], tuple(place[d] for d in range(len(place))))


@define("reverse")
def write_reverse(body: Body, instr: Instruction, index: Index) -> Expr:
    """Element i of a flipped dimension of size n is element n - 1 - i."""
    attrs = a.Dimensions.of(instr)
    dims = instr.shape.dims
    flipped = (
        part * -1 + (dims[d] - 1) if d in attrs.dimensions else part for d, part in enumerate(index)
    )
    return body.element(instr.operands[0], tuple(flipped))


@define("slice")
def write_slice(body: Body, instr: Instruction, index: Index) -> Expr:
    """Element i is element start + i * stride."""
    attrs = a.Slice.of(instr)
    pairs = zip(index, attrs.slice, strict=True)
    return body.element(instr.operands[0], tuple(i * s.stride + s.start for i, s in pairs))


@define("pad")
def write_pad(body: Body, instr: Instruction, index: Index) -> Expr:
    """The operand's element where there is one, else the padding value."""
    attrs = a.Pad.of(instr)
    operand, padding = instr.operands
    inside = [
        Within(part + -p.low, 0, (n - 1) * (p.interior + 1) + 1, p.interior + 1)
        for part, n, p in zip(index, operand.shape.dims, attrs.padding, strict=True)
    ]
    pairs = zip(bounded(index, inside), attrs.padding, strict=True)
    source = tuple((part + -p.low) // (p.interior + 1) for part, p in pairs)
    return chosen(body, instr, [(body.holds(inside), operand, source), (None, padding, ())])


@define("concatenate")
def write_concatenate(body: Body, instr: Instruction, index: Index) -> Expr:
    """The element of that operand in whose range the index is."""
    attrs = a.Dimensions.of(instr)
    d = attrs.dimensions[0]
    cases: list[Case] = []
    start = 0
    for operand in instr.operands:
        end = start + operand.shape.dims[d]
        # Earlier operands have been asked already, so only the end matters.
        condition = body.holds([Within(index[d], min(start, index[d].low), end)])
        if index[d].high >= start and end > start:
            here = bounded(index, [Within(index[d], start, end)])
            cases.append((condition, operand, (*here[:d], here[d] + -start, *here[d + 1 :])))
        start = end
    return chosen(body, instr, cases)


Case = tuple[Expr | None, "Instruction", Index]


def chosen(body: Body, instr: Instruction, cases: Sequence[Case]) -> Expr:
    """The element of the first case whose condition holds; the last case's, if none does."""
    possible = [case for case in cases if case[0] != NEVER] or [cases[-1]]
    always = next((i for i, case in enumerate(possible) if case[0] is None), len(possible) - 1)
    possible = possible[: always + 1]
    if len(possible) == 1:
        return body.element(possible[0][1], possible[0][2])
    result = body.variable(wide(instr.shape.element_type), instr.name)
    _branch(body, result, possible)
    return result


def _branch(body: Body, result: Name, cases: Sequence[Case]) -> None:
    condition, operand, index = cases[0]
    with body.block() as then:
        body.assign(result, body.element(operand, index))
    if len(cases) == 1 or condition is None:
        body.add(*then)
        return
    with body.block() as otherwise:
        _branch(body, result, cases[1:])
    body.add(If(condition, tuple(then), tuple(otherwise)))


@define("bitcast")
def write_bitcast(body: Body, instr: Instruction, index: Index) -> Expr:
    """The bits with the same number in memory, when both layouts are walked through."""
    operand = instr.operands[0]
    source, target = operand.shape.element_type, instr.shape.element_type
    if source.bits == target.bits:
        value = body.element(operand, _bitcast_index(instr, index))
        return reinterpreted(body, value, operand.shape, instr.shape)
    number = _number(instr.shape, index)
    if source.bits > target.bits:
        ratio = source.bits // target.bits
        value = body.element(operand, _numbered(operand.shape, number // ratio))
        return part_of(body, value, source, target, number % ratio)
    ratio = target.bits // source.bits
    places = (_numbered(operand.shape, number * ratio + k) for k in range(ratio))
    return joined_parts(body, [body.element(operand, place) for place in places], source, target)


def _bitcast_index(instr: Instruction, index: Index) -> Index:
    return _numbered(instr.operands[0].shape, _number(instr.shape, index))


def _number(shape: Shape, index: Index) -> Sum:
    """The number in memory of an element."""
    order = shape.memory_order
    return linear(tuple(index[d] for d in order), [shape.dims[d] for d in order])


def _numbered(shape: Shape, number: Sum) -> Index:
    """Where the element with a number in memory stands."""
    order = shape.memory_order
    place = dict(zip(order, delinear(number, [shape.dims[d] for d in order]), strict=True))
    return tuple(place[d] for d in range(shape.rank))


@define("bitcast-convert")
def write_bitcast_convert(body: Body, instr: Instruction, index: Index) -> Expr:
    """The bits of an element, or some of them, or those of several, under another type.

    A wider element is several narrower ones along the last dimension, its lowest bits first.
    """
    operand = instr.operands[0]
    source, target = operand.shape.element_type, instr.shape.element_type
    if source.bits == target.bits:
        return reinterpreted(body, body.element(operand, index), operand.shape, instr.shape)
    if source.bits > target.bits:
        return part_of(body, body.element(operand, index[:-1]), source, target, index[-1])
    parts = [unknown("", k, k) for k in range(target.bits // source.bits)]
    values = [body.element(operand, (*index, part)) for part in parts]
    return joined_parts(body, values, source, target)


@define("get-dimension-size")
def write_get_dimension_size(_body: Body, instr: Instruction, _index: Index) -> Expr:
    """The size, which is known: modules with dynamic sizes are refused."""
    attrs = a.Dimensions.of(instr)
    return Literal(instr.operands[0].shape.dims[attrs.dimensions[0]])


@define("replica-id", "partition-id")
def write_device_number(_body: Body, _instr: Instruction, _index: Index) -> Expr:
    """The number of the only device."""
    return Literal(0)


@define("dynamic-slice")
def write_dynamic_slice(body: Body, instr: Instruction, index: Index) -> Expr:
    """The operand's element as far behind the start as the index says."""
    attrs = a.DynamicSlice.of(instr)
    operand, *starts = instr.operands
    first = window_start(body, starts, operand.shape.dims, attrs.dynamic_slice_sizes)
    return body.element(operand, tuple(s + i for s, i in zip(first, index, strict=True)))


def window_start(
    body: Body, starts: Sequence[Instruction], dims: Sequence[int], sizes: Sequence[int]
) -> Index:
    """The start that lies nearest to the one asked for, such that the window is inside."""
    found: list[Sum] = []
    for d, (n, size) in enumerate(zip(dims, sizes, strict=True)):
        one = len(starts) == 1 and starts[0].shape.rank == 1
        start = starts[0] if one else starts[d]
        if n == size:
            found.append(Sum(0))
            continue
        known = body.literal(start)
        if known is not None and known.array is not None:
            asked = int(known.array[d] if one else known.array)
            found.append(Sum(min(max(asked, 0), n - size)))
            continue
        value = body.element(start, (Sum(d),) if one else ())
        found.append(clamped(body, value, n - size, start))
    return tuple(found)


def clamped(
    body: Body, value: Expr, limit: int, source: Instruction, *, short: bool = False
) -> Sum:
    """A number brought into the range from 0 to a limit.

    Parameters
    ----------
    source : what the number is an element of.
    short : the result has 32 bits; both the limit and what it is multiplied by have room in that.
    """
    if limit <= 0:
        return unknown("", 0, 0)
    given = source.shape.element_type
    unsigned = given.kind == "unsigned"
    # Numbers are compared in their own type: lanes as narrow as they are.
    compared = ELEMENT_TYPES[f"{'u' if unsigned else 's'}{max(given.bits, 32)}"]
    if limit > (1 << compared.bits - (not unsigned)) - 1:
        compared = ELEMENT_TYPES["s64"]
    kind, most = "s32" if short else "s64", literal(compared, limit)
    number = Cast(compared.name, value)
    nearest = Choose(binary(">", number, most), most, number)
    nearest = nearest if unsigned else Choose(binary("<", value, 0), Literal(0), nearest)
    return unknown(body.let(kind, f"{source.name}_at", Cast(kind, nearest)).name, 0, limit)


@define("gather")
def write_gather(body: Body, instr: Instruction, index: Index) -> Expr:
    """The element of the window at one index vector, whose start is clamped.

    Where slices of size 0 are collapsed, there is none, and the result is 0.
    """
    attrs = a.Gather.of(instr)
    operand, indices = instr.operands
    dims = operand.shape.dims
    batch = [part for d, part in enumerate(index) if d not in attrs.offset_dims]
    dropped = (*attrs.collapsed_slice_dims, *attrs.operand_batching_dims)
    if not operand.shape.size or any(attrs.slice_sizes[d] == 0 for d in dropped):
        return literal(operand.shape.element_type, 0)
    window = [d for d in range(len(dims)) if d not in dropped]
    offset = {d: index[place] for d, place in zip(window, attrs.offset_dims, strict=True)}
    at = [offset.get(d, unknown("", 0, 0)) for d in range(len(dims))]
    # Places of 32 bits are found in half as many vectors, and of any number of elements each.
    short = operand.shape.size < 1 << 31
    for k, d in enumerate(attrs.start_index_map):
        here = vector_index(batch, attrs.index_vector_dim, indices, k)
        limit = dims[d] - attrs.slice_sizes[d]
        counted = _counted(body, indices, here)
        if counted is not None and counted.low >= 0 and counted.high <= limit:
            at[d] = at[d] + counted
            continue
        value = body.element(indices, here)
        at[d] = at[d] + clamped(body, value, limit, indices, short=short)
    pairs = zip(attrs.operand_batching_dims, attrs.start_indices_batching_dims, strict=True)
    for d, place in pairs:
        at[d] = _at_most(body, batch[place - (place > attrs.index_vector_dim)], dims[d] - 1)
    return body.element(operand, tuple(at))


def _at_most(body: Body, place: Sum, limit: int) -> Sum:
    """A place, or the limit if it is past it: a batch may have more parts than the operand."""
    if place.high <= limit:
        return place
    number = indexed(place)
    nearest = Choose(binary("<", number, limit), number, Literal(limit))
    return unknown(body.let("s64", "batch", nearest).name, 0, limit)


def _counted(body: Body, instr: Instruction, index: Index) -> Sum | None:
    """The number that an element of an iota is, through what only moves elements; None for others.

    Gathers along one dimension have iotas in their index vectors for all others.
    """
    environment = body.environment
    while True:
        while instr in environment.aliases:
            environment, instr = environment.aliases[instr]
        if instr in environment.pointers:
            return None
        if instr.opcode == "iota":
            iota = a.Iota.of(instr)
            number = index[iota.iota_dimension]
            _, largest = integer_range(instr.shape.element_type)
            return number if number.high <= largest else None
        moved = _moved(instr, index)
        if moved is None:
            return None
        instr, index = moved


def _moved(instr: Instruction, index: Index) -> tuple[Instruction, Index] | None:
    """Whose element an element is, and which, where that is certain."""
    if instr.opcode == "reshape":
        operand = instr.operands[0]
        return operand, delinear(linear(index, instr.shape.dims), operand.shape.dims)
    if instr.opcode == "bitcast":
        operand = instr.operands[0]
        same = operand.shape.element_type is instr.shape.element_type
        return (operand, _bitcast_index(instr, index)) if same else None
    if instr.opcode == "broadcast":
        attrs = a.Broadcast.of(instr)
        return instr.operands[0], tuple(index[d] for d in attrs.dimensions)
    if instr.opcode == "concatenate":
        joined = a.Dimensions.of(instr)
        d, start = joined.dimensions[0], 0
        for operand in instr.operands:
            end = start + operand.shape.dims[d]
            if start <= index[d].low and index[d].high < end:
                return operand, (*index[:d], index[d] + -start, *index[d + 1 :])
            start = end
    return None


def vector_index(
    batch: Sequence[Sum], vector_dim: int, indices: Instruction, element: int
) -> Index:
    """The index of an element of the index vector at a place of the batch."""
    if vector_dim == indices.shape.rank:
        return tuple(batch)
    return (*batch[:vector_dim], unknown("", element, element), *batch[vector_dim:])
