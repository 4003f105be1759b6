"""Parts of arrays that a loop writes, each once: rows of a scan's results.

    for j in 0 .. n-1:  ys[n-1-j] = y

Backwards, the cotangent of y is a row of that of ys. No other iteration reads the row, so it need
not become 0 there; and y itself can be read from ys, if the derivative needs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.attributes import Broadcast
from optimizer.expanders.parts import number, to_dims
from optimizer.loops.trip_count import number as number_of
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction
    from optimizer.derivative.bodies import LinearBody
    from optimizer.loops.trip_count import InductionVariable

# `factor * j + offset` in iteration j.
Affine = tuple[int, int]


@dataclass(frozen=True)
class WrittenRow:
    """A dynamic-update-slice by which each iteration of a loop writes another part of an array.

    Attributes
    ----------
    update : what is written.
    starts : where, as a function of the iteration's number.
    """

    update: Instruction
    starts: Sequence[Affine]

    def read(self, array: Instruction, row: Instruction) -> Instruction:
        """The part that an iteration writes."""
        starts = [at(row, *start) for start in self.starts]
        sizes = self.update.shape.dims
        return make("dynamic-slice", array, *starts, dynamic_slice_sizes=sizes)

    def value(self, array: Instruction, row: Instruction, like: Instruction) -> Instruction:
        """The part in another shape with as many elements."""
        return to_dims(self.read(array, row), like.shape.dims)


def at(row: Instruction, factor: int, offset: int) -> Instruction:
    """The value of an affine function."""
    if not factor:
        return number(offset, row.shape.element_type)
    value = row if factor == 1 else make("multiply", row, factor)
    return value if not offset else make("add", value, offset)


def written_rows(
    body: LinearBody, counter: InductionVariable | None, trips: int
) -> dict[int, WrittenRow]:
    """The leaves of a loop's state of which each iteration writes another part."""
    rows: dict[int, WrittenRow] = {}
    if counter is None:
        return rows
    known: dict[Instruction, Affine] = {body.leaves[counter.index]: (counter.step, counter.init)}
    for k, (leaf, value) in enumerate(zip(body.leaves, body.values, strict=True)):
        if value.opcode != "dynamic-update-slice" or value.operands[0] is not leaf:
            continue
        _, update, *starts = value.operands
        every = [affine(start, known, trips) for start in starts]
        places = [place for place in every if place is not None]
        if len(places) < len(every):
            continue
        rooms = [n - m for n, m in zip(leaf.shape.dims, update.shape.dims, strict=True)]
        # Outside, a start would be moved, perhaps to where another one is.
        inside = all(
            0 <= end <= room
            for (factor, offset), room in zip(places, rooms, strict=True)
            for end in (offset, factor * (trips - 1) + offset)
        )
        pairs = zip(places, update.shape.dims, strict=True)
        if inside and any(abs(factor) >= size > 0 for (factor, _), size in pairs):
            rows[k] = WrittenRow(update, places)
    return rows


def affine(x: Instruction, known: dict[Instruction, Affine], trips: int) -> Affine | None:
    """An integer as a function of the iteration's number, if it is one and nowhere overflows."""
    if x in known:
        return known[x]
    value = number_of(x)
    if value is not None:
        return 0, value
    if x.opcode not in ("add", "subtract", "multiply", "convert", "copy") or x.shape.dims:
        return None
    every = [affine(operand, known, trips) for operand in x.operands]
    parts, kind = [part for part in every if part is not None], x.shape.element_type
    combined_index = combined(x.opcode, parts) if len(parts) == len(every) else None
    if combined_index is None or not kind.is_integer:
        return None
    signed = kind.kind == "signed"
    low, high = (-(2 ** (kind.bits - 1)), 2 ** (kind.bits - 1)) if signed else (0, 2**kind.bits)
    factor, offset = combined_index
    ends = offset, factor * (trips - 1) + offset
    return combined_index if all(low <= end < high for end in ends) else None


def combined(opcode: str, parts: Sequence[Affine]) -> Affine | None:
    """An operation on affine functions, if the result is one."""
    if len(parts) == 1:
        return parts[0]
    (p, q), (r, s) = parts
    if opcode == "add":
        return p + r, q + s
    if opcode == "subtract":
        return p - r, q - s
    return (p * s + q * r, q * s) if not p or not r else None


def source_of(update: Instruction) -> Instruction:
    """What is written, before it was given dimensions of size 1."""
    while update.opcode in ("reshape", "broadcast"):
        (operand,) = update.operands
        if operand.shape.size != update.shape.size:
            break
        dims = Broadcast.of(update).dimensions if update.opcode == "broadcast" else ()
        if list(dims) != sorted(dims):
            break
        update = operand
    return update
