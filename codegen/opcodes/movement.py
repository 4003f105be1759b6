"""Opcodes that move elements become index arithmetic.

Each function is given the index of an element of the result, and asks for the operand's element
that is there: `optimizer.analysis.indexing_map` knows where. Nothing is copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from codegen.elements.constants import literal_of
from codegen.elements.table import Element, elements
from codegen.elements.types import literal, narrowed
from codegen.expressions import (
    NEVER,
    Cast,
    Choose,
    Expr,
    Literal,
    Name,
    at_most,
    binary,
    grouped,
    indexed,
)
from codegen.kinds import wide
from codegen.opcodes.bits import joined_parts, part_of, reinterpreted
from codegen.opcodes.counted import counted
from codegen.statements import Assign, If, Statement
from hlo import attributes as a
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import Index, Sum, unknown
from optimizer.analysis.indexing_map import at_number, bitcast, number_in_memory, sources

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.body import Body
    from codegen.elements.writer import Values
    from hlo.instruction import Instruction


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
    number = indexed(index[attrs.iota_dimension])
    return narrowed(element_type, Cast(wide(element_type), grouped(number)))


@define("broadcast", "concatenate", "pad", "reshape", "reverse", "slice", "transpose")
def write_moved(body: Body, instr: Instruction, index: Index) -> Expr:
    """The element of an operand that the opcode's indexing map tells."""
    moves = sources(instr, index)
    cases = [(body.holds(s.conditions), s.operand, s.source_index) for s in moves]
    return chosen(body, instr, cases)


Case = tuple[Expr | None, "Instruction", Index]


def chosen(body: Body, instr: Instruction, cases: Sequence[Case]) -> Expr:
    """The element of the first case whose condition holds; the last case's, if none does."""
    possible = [case for case in cases if case[0] != NEVER] or [cases[-1]]
    always = next((i for i, case in enumerate(possible) if case[0] is None), len(possible) - 1)
    possible = possible[: always + 1]
    if len(possible) == 1:
        return body.element(possible[0][1], possible[0][2])
    kind = instr.shape.element_type
    pieces: list[tuple[Expr | None, Sequence[Statement], Expr]] = []
    for condition, operand, there in possible:
        with body.block() as inside:
            element = body.element(operand, there)
        pieces.append((condition, inside, element))
    # Small floats are chosen as they are stored, if all of them are: for many that is all.
    in_bits = all(body.has_bits(kind, element) for _, _, element in pieces)
    result = body.variable(kind.name if in_bits else wide(kind), instr.name)
    statements: tuple[Statement, ...] = ()
    for condition, inside, element in reversed(pieces):
        value = body.stored(kind, element) if in_bits else element
        block = (*inside, Assign(result, value))
        statements = (If(condition, block, statements),) if statements and condition else block
    body.add(*statements)
    return body.widened(kind, result, instr.name) if in_bits else result


@define("bitcast")
def write_bitcast(body: Body, instr: Instruction, index: Index) -> Expr:
    """The bits with the same number in memory, when both layouts are walked through."""
    operand = instr.operands[0]
    source, target = operand.shape.element_type, instr.shape.element_type
    if source.bits == target.bits:
        value = body.element(operand, bitcast(instr, index))
        return reinterpreted(body, value, operand.shape, instr.shape)
    number = number_in_memory(instr.shape, index)
    if source.bits > target.bits:
        ratio = source.bits // target.bits
        value = body.element(operand, at_number(operand.shape, number // ratio))
        return part_of(body, value, source, target, number % ratio)
    ratio = target.bits // source.bits
    parts = (at_number(operand.shape, number * ratio + k) for k in range(ratio))
    return joined_parts(body, [body.element(operand, part) for part in parts], source, target)


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
    """The operand's element as far after the start as the index says."""
    attrs = a.DynamicSlice.of(instr)
    operand, *starts = instr.operands
    first = window_start(body, starts, operand.shape.dims, attrs.dynamic_slice_sizes)
    return body.element(operand, tuple(s + i for s, i in zip(first, index, strict=True)))


def window_start(
    body: Body, starts: Sequence[Instruction], dims: Sequence[int], sizes: Sequence[int]
) -> Index:
    """The start that lies nearest to the given one, such that the window is inside."""
    begins: list[Sum] = []
    for d, (n, size) in enumerate(zip(dims, sizes, strict=True)):
        one = len(starts) == 1 and starts[0].shape.rank == 1
        start = starts[0] if one else starts[d]
        if n == size:
            begins.append(Sum(0))
            continue
        known = body.literal(start)
        if known is not None and known.array is not None:
            first = int(known.array[d] if one else known.array)
            begins.append(Sum(min(max(first, 0), n - size)))
            continue
        value = body.element(start, (Sum(d),) if one else ())
        begins.append(clamped(body, value, n - size, start))
    return tuple(begins)


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
    element_type = source.shape.element_type
    unsigned = element_type.kind == "unsigned"
    # Numbers are compared in their own type: lanes as narrow as they are.
    compared = ELEMENT_TYPES[f"{'u' if unsigned else 's'}{max(element_type.bits, 32)}"]
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
    offset = {d: index[k] for d, k in zip(window, attrs.offset_dims, strict=True)}
    at = [offset.get(d, unknown("", 0, 0)) for d in range(len(dims))]
    # Offsets of 32 bits are computed in half as many vectors, and of any number of elements each.
    short = operand.shape.size < 1 << 31
    for k, d in enumerate(attrs.start_index_map):
        here = vector_index(batch, attrs.index_vector_dim, indices, k)
        limit = dims[d] - attrs.slice_sizes[d]
        number = counted(body, indices, here)
        if number is not None and number.low >= 0 and number.high <= limit:
            at[d] = at[d] + number
            continue
        value = body.element(indices, here)
        at[d] = at[d] + clamped(body, value, limit, indices, short=short)
    pairs = zip(attrs.operand_batching_dims, attrs.start_indices_batching_dims, strict=True)
    for d, k in pairs:
        at[d] = _at_most(body, batch[k - (k > attrs.index_vector_dim)], dims[d] - 1)
    return body.element(operand, tuple(at))


def _at_most(body: Body, index: Sum, limit: int) -> Sum:
    """An index, or the limit if it is past it: a batch may have more parts than the operand."""
    if index.high <= limit:
        return index
    return unknown(body.let("s64", "batch", at_most(indexed(index), limit)).name, 0, limit)


def vector_index(
    batch: Sequence[Sum], vector_dim: int, indices: Instruction, element: int
) -> Index:
    """The index of an element of the index vector at an index into the batch."""
    if vector_dim == indices.shape.rank:
        return tuple(batch)
    return (*batch[:vector_dim], unknown("", element, element), *batch[vector_dim:])
