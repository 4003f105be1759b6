"""The sort of one array of at most 32 bits by one key, of which many need no numbers of elements.

Keys alone are sorted where every element can be made from its own; those of 8 or 16 bits are
counted. Else each word is a key above the element itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.elements.types import store
from codegen.expressions import Cast, Literal, apply, item
from codegen.kinds import Pointer
from codegen.opcodes.bits import bits_of, from_bits
from codegen.opcodes.comparators import note_loss, word_of_key
from codegen.opcodes.parts import sort_in_parts
from codegen.opcodes.words import INSERTED, Words, rows_along
from codegen.statements import For, If
from hlo import attributes as a
from optimizer.analysis.indexing import counter, linear

if TYPE_CHECKING:
    from collections.abc import Callable

    from codegen.elements.body import Body
    from codegen.expressions import Expr, Name
    from codegen.opcodes.comparators import SortKey
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from optimizer.analysis.indexing import Sum

COUNTED = {8: 64, 16: 1 << 17}
"""Measured: integers of so many bits that are counted instead of sorted, if there are as many in a
row: each takes 2 ns, and so does each of the 256 or 65,536 counts. Sorted, a million of u8 take 8
times as long, and of s16 4 times."""
IN_PARTS = 1 << 24
"""A guard for memory: length of a row of 32 bits each, which is sorted a quarter at a time if there
are elements that differ though their keys do not."""


def sorted_axis(instr: Instruction) -> int:
    """The dimension along which a sort goes."""
    attrs = a.Sort.of(instr)
    return attrs.dimensions[0]


def write_alone(
    body: Body, instr: Instruction, key: SortKey, output: Name, *, in_chunks: bool
) -> int:
    """Sort an array by one key; gives the bytes of scratch.

    Parameters
    ----------
    in_chunks : as of `Words`.
    """
    shape = instr.operands[0].shape
    n = shape.dims[sorted_axis(instr)]
    if _is_counted(n, key, shape.element_type):
        _write_counting_sort(body, instr, key, output)
        return 0
    exact = n > INSERTED and _is_exact(key, shape.element_type)
    in_parts = in_chunks and n == shape.size >= IN_PARTS and key.tells(shape.element_type)
    kind = "u32" if exact or in_parts else "u64"
    words = Words(body, n, shape.size // n, in_chunks=in_chunks, kind=kind)
    _write_single_sort(words, instr, key, output, exact=exact)
    return words.scratch_bytes


def _is_exact(key: SortKey, element_type: ElementType) -> bool:
    """Whether elements are integers of 32 bits, and their own keys."""
    return key.value.opcode == "parameter" and element_type.name in ("s32", "u32")


def _is_counted(n: int, key: SortKey, element_type: ElementType) -> bool:
    """Whether elements are integers of so few bits that many are equal, and their own keys."""
    own = key.value.opcode == "parameter" and element_type.kind in ("signed", "unsigned")
    return own and key.bits == element_type.bits and n >= COUNTED.get(key.bits, n + 1)


def _write_counting_sort(body: Body, instr: Instruction, key: SortKey, output: Name) -> None:
    """Count how often each key occurs in a row, and write it as often."""
    operand = instr.operands[0]
    element_type, dims = operand.shape.element_type, operand.shape.dims
    axis, size = sorted_axis(instr), 1 << key.bits
    with rows_along(body, operand.shape, axis) as at:
        # The first number of the array says which key comes next.
        counts = body.own("u32", "counts", 1 + size, 4)
        with body.lanes(["j"], [1 + size]) as (j,):
            body.assign(item(counts, j), 0)
        name = body.name("j")
        with body.block() as counted:
            j = counter(name, dims[axis])
            key_count = body.let("s64", "bin", 1 + key.word(body.element(operand, at(j))))
            body.assign(item(counts, key_count), item(counts, key_count) + 1)
        with body.block() as written:
            word = body.let("u32", "key", apply(FUNCTIONS["next_counted"], counts))
            sign = size >> 1 if element_type.kind == "signed" else 0
            flipped = (size - 1 if key.descending else 0) ^ sign
            bits = word ^ Literal(flipped, "u32", hexadecimal=True)
            element = store(element_type, from_bits(body, bits, element_type))
            body.assign(item(output, linear(at(j), dims)), element)
        body.add(For(name, dims[axis], tuple(counted)), For(name, dims[axis], tuple(written)))


def _write_single_sort(
    words: Words, instr: Instruction, key: SortKey, output: Name, *, exact: bool
) -> None:
    """Sort the row's elements themselves, without their numbers.

    Parameters
    ----------
    exact : each element can be made from its key.
    """
    body, operand = words.body, instr.operands[0]
    element_type, dims = operand.shape.element_type, operand.shape.dims
    with rows_along(body, operand.shape, sorted_axis(instr)) as at:

        def word(j: Sum) -> tuple[Expr, Expr]:
            value = body.element(operand, at(j))
            return value, word_of_key(body, instr, key, [value])

        def put(j: Sum, bits: Expr) -> None:
            element = store(element_type, from_bits(body, bits, element_type))
            body.assign(item(output, linear(at(j), dims)), element)

        if words.n <= INSERTED or not key.tells(element_type):
            _sort_with_elements(words, element_type, key.bits, word, put)
            return
        array, spare = words.pair("u32")
        if words.chunks:  # a row alone: the words have room where the result goes
            array = body.variable(Pointer("u32"), "words", Cast(Pointer("u32"), output))
        lost = None if exact else body.variable("u32", "lost", 0)
        with words.each(lost) as j:
            value, key_word = word(j)
            code = body.let("u32", "key", key_word)
            body.assign(item(array, j), code)
            if lost:
                note_loss(body, lost, key, code, value)
        with body.block() as by_key:
            done = words.sorted("u32", array, spare, 0, key.bits)
            with words.each() as j:
                put(j, key.bits_of_word(item(done, j)))
        if lost is None:
            body.add(*by_key)
            return
        with body.block() as by_both:
            if words.kind == "u32":
                sort_in_parts(words, array, element_type, word)
            else:
                _sort_with_elements(words, element_type, key.bits, word, put)
        body.add(If(lost, tuple(by_both), tuple(by_key)))


def _sort_with_elements(
    words: Words, element_type: ElementType, bits: int,
    word: Callable[[Sum], tuple[Expr, Expr]], put: Callable[[Sum, Expr], None],
) -> None:  # fmt: skip
    """Sort words of an element's key and its bits: for different elements may have the same key.

    Parameters
    ----------
    word : gives the value of an element and its key; `put` stores one, given as its bits.
    """
    body, low = words.body, 8 * element_type.bytes
    kind = "u32" if low + bits <= 32 else "u64"
    array, spare = words.pair(kind)
    with words.each() as j:
        value, key = word(j)
        code = Cast(kind, key) << low | bits_of(body, value, element_type)
        body.assign(item(array, j), code)
    done = words.sorted(kind, array, spare, low, bits)
    with words.each() as j:
        put(j, item(done, j))
