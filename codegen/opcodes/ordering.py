"""Kernels that sort rows.

Where the comparator compares keys, each element becomes one word: its key above its number in the
row. Words are sorted digit by digit. Keys of 64 bits, and several keys, are sorted in turns, the
least important bits first. One array is sorted in other ways: see `codegen.opcodes.sorting_alone`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from codegen.elements.table import WholeArray, elements
from codegen.expressions import Cast, item
from codegen.opcodes.bits import from_bits
from codegen.opcodes.comparators import keys, note_loss, operands_of, parts_of, word_of_key
from codegen.opcodes.merging import write_merge_sort
from codegen.opcodes.sorting_alone import sorted_axis, write_alone
from codegen.opcodes.words import INSERTED, Words, rows_along
from codegen.statements import If
from optimizer.analysis.indexing import linear, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr, Name
    from codegen.opcodes.comparators import SortKey
    from codegen.opcodes.words import RowIndex
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Sum


def write_sort(
    body: Body, instr: Instruction, outputs: Sequence[Name], *, in_chunks: bool = True
) -> int:
    """Sort by the comparator's keys, or by the comparator itself; gives the bytes of scratch.

    Parameters
    ----------
    in_chunks : as of `Words`.
    """
    sort_keys = keys(instr.called[0])
    shape, axis = instr.operands[0].shape, sorted_axis(instr)
    n = shape.dims[axis]
    if not sort_keys or n >= 1 << 31:
        write_merge_sort(body, instr, outputs)
        return 0
    if (
        len(instr.operands) == len(sort_keys) == 1
        and shape.element_type.bits <= 32 >= sort_keys[0].bits
    ):
        return write_alone(body, instr, sort_keys[0], outputs[0], in_chunks=in_chunks)
    words = Words(body, n, shape.size // n, in_chunks=in_chunks)
    lossy = _told(instr, sort_keys) if n > INSERTED else None
    with rows_along(body, shape, axis) as at:
        lost = body.variable("u32", "lost", 0) if lossy else None

        def word(key: SortKey, j: Sum) -> Expr:
            values = [body.element(o, at(j)) for o in instr.operands]
            key_word = word_of_key(body, instr, key, values)
            if lossy and lost:
                key_word = body.let("u32", "key", key_word)
                note_loss(body, lost, key, key_word, values[instr.operands.index(lossy)])
            return key_word

        parts = [part for key in sort_keys for part in parts_of(key, partial(word, key))]
        order = words.ordered(parts, lost)
        store = partial(_store, words, order, at, instr, outputs)
        with body.block() as fetched:
            store()
        if lossy and lost:
            with body.block() as tie_break:
                store(lossy, sort_keys[0])
            body.add(If(lost, tuple(fetched), tuple(tie_break)))
        else:
            body.add(*fetched)
    return words.scratch_bytes


def _told(instr: Instruction, sort_keys: Sequence[SortKey]) -> Instruction | None:
    """The operand whose elements can be made from the only key, so that they need no fetching."""
    if len(sort_keys) > 1:
        return None
    read = operands_of(sort_keys[0])
    operand = instr.operands[read[0]]
    return operand if len(read) == 1 and sort_keys[0].tells(operand.shape.element_type) else None


def _store(
    words: Words,
    order: Name,
    at: RowIndex,
    instr: Instruction,
    outputs: Sequence[Name],
    lossy: Instruction | None = None,
    key: SortKey | None = None,
) -> None:
    """Store a row of each array in the order of the words.

    Parameters
    ----------
    lossy : an operand whose elements are made from this key; the others are fetched.
    """
    body = words.body
    with words.each() as j:
        number = body.let("s64", "number", Cast("u32", item(order, j)))
        target = linear(at(j), instr.operands[0].shape.dims)
        for output, operand in zip(outputs, instr.operands, strict=True):
            kind = operand.shape.element_type
            if key and operand is lossy:
                element = from_bits(body, key.bits_of_word(Cast("u32", item(order, j) >> 32)), kind)
            else:
                element = body.element(operand, at(unknown(number.name, 0, words.n - 1)))
            body.assign(item(output, target), body.stored(kind, element))


elements.define("sort", WholeArray(write_sort, in_memory=()))
