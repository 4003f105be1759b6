"""Kernels that sort rows, and that find the largest elements of rows.

Where the comparator compares keys, each element becomes one word: its key above its number in the
row (or above the element itself, if there is nothing else to move). Words are sorted digit by
digit. Keys of 64 bits, and several keys, are sorted in turns, the least important bits first. Keys
alone are sorted where every element can be made from its own; those of 8 or 16 bits are counted.
"""

from __future__ import annotations

from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING

from codegen.elements.body import Body
from codegen.elements.table import WholeArray, elements
from codegen.elements.types import store
from codegen.elements.writer import Environment
from codegen.expressions import (
    Cast,
    Choose,
    Expr,
    Group,
    Literal,
    Name,
    apply,
    binary,
    indexed,
    item,
)
from codegen.kinds import Pointer
from codegen.opcodes.bits import bits_of, from_bits
from codegen.opcodes.comparators import SortKey, keys
from codegen.opcodes.merging import write_merge_sort
from codegen.opcodes.parts import sort_in_parts
from codegen.opcodes.words import Words
from codegen.statements import For, If, straight
from hlo import attributes as a
from hlo.attributes import ParameterNumber
from hlo.walk import post_order
from optimizer import machine
from optimizer.analysis.indexing import counter, linear, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType
    from hlo.types.shape import Shape
    from optimizer.analysis.indexing import Index, Sum

    RowIndex = Callable[[Sum], Index]
    Part = tuple[Callable[[Sum], Expr], int]  # a key's word at an index of the row, and its bits


def write_sort(
    body: Body, instr: Instruction, outputs: Sequence[Name], *, in_chunks: bool = True
) -> int:
    """Sort by the comparator's keys, or by the comparator itself; gives the bytes of scratch.

    Parameters
    ----------
    in_chunks : as of `Words`.
    """
    found = keys(instr.called[0])
    shape, axis = instr.operands[0].shape, _axis(instr)
    n = shape.dims[axis]
    if not found or n >= 1 << 31:
        write_merge_sort(body, instr, outputs)
        return 0
    if len(instr.operands) == len(found) == 1 and shape.element_type.bits <= 32 >= found[0].bits:
        return _write_alone(body, instr, found[0], outputs[0], in_chunks=in_chunks)
    words = Words(body, n, shape.size // n, in_chunks=in_chunks)
    told = _told(instr, found) if n > machine.INSERTED else None
    with _rows(body, shape, axis) as at:
        lost = body.variable("u32", "lost", 0) if told else None

        def value(key: SortKey) -> Callable[[Sum], Expr]:
            def word(j: Sum) -> Expr:
                values = [body.element(o, at(j)) for o in instr.operands]
                made = word_of_key(body, instr, key, values)
                if told and lost:
                    made = body.let("u32", "key", made)
                    _note_loss(body, lost, key, made, values[instr.operands.index(told)])
                return made

            return word

        order = _order(words, [part for key in found for part in parts_of(key, value(key))], lost)

        def put(known: Instruction | None) -> None:
            with _each(words) as j:
                number = body.let("s64", "number", Cast("u32", item(order, j)))
                target = linear(at(j), shape.dims)
                for output, operand in zip(outputs, instr.operands, strict=True):
                    kind = operand.shape.element_type
                    if operand is known:
                        bits = found[0].bits_of_word(Cast("u32", item(order, j) >> 32))
                        element = from_bits(body, bits, kind)
                    else:
                        element = body.element(operand, at(unknown(number.name, 0, n - 1)))
                    body.assign(item(output, target), body.stored(kind, element))

        with body.block() as fetched:
            put(None)
        if told and lost:
            with body.block() as made:
                put(told)
            body.add(If(lost, tuple(fetched), tuple(made)))
        else:
            body.add(*fetched)
    return words.scratch_bytes


def _told(instr: Instruction, found: Sequence[SortKey]) -> Instruction | None:
    """The operand whose elements can be made from the only key, so that they need no fetching."""
    if len(found) > 1:
        return None
    read = operands_of(found[0])
    operand = instr.operands[read[0]]
    return operand if len(read) == 1 and found[0].tells(operand.shape.element_type) else None


def operands_of(*keys: SortKey) -> list[int]:
    """The numbers of the sort's operands of whose elements keys are made."""
    inside = (i for key in keys for i in post_order(key.value) if i.opcode == "parameter")
    return sorted({ParameterNumber.of(i).number // 2 for i in inside})


def _note_loss(body: Body, lost: Name, key: SortKey, word: Expr, value: Expr) -> None:
    """Note whether an element can't be made from its key's word."""
    bits = bits_of(body, value, key.element_type)
    body.assign(lost, lost | Group(key.bits_of_word(word) ^ bits))


def _axis(instr: Instruction) -> int:
    attrs = a.Sort.of(instr)
    return attrs.dimensions[0]


def word_of_key(body: Body, instr: Instruction, key: SortKey, values: Sequence[Expr]) -> Expr:
    """The word of a comparator's key, for an element of each of the sorted arrays."""
    environment = Environment()
    for parameter in instr.called[0].parameters:
        number = ParameterNumber.of(parameter).number
        if number % 2 == key.side:
            environment.scalars[parameter] = (values[number // 2],)
    return key.word(Body(body.writer, environment).element(key.value, ()))


def parts_of(key: SortKey, value: Callable[[Sum], Expr]) -> list[Part]:
    """A key's word, or its halves."""
    if key.bits <= 32:
        return [(value, key.bits)]
    return [(lambda j: Group(value(j) >> 32), 32), (lambda j: Cast("u32", value(j)), 32)]


@contextmanager
def _rows(body: Body, shape: Shape, axis: int) -> Generator[RowIndex]:
    """Run a block for every row along an axis; gives the index of an element of the row."""
    others = [1 if d == axis else size for d, size in enumerate(shape.dims)]
    with body.loops([f"i{d}" for d in range(shape.rank)], others, parallel=True) as outer:
        yield lambda j: (*outer[:axis], j, *outer[axis + 1 :])


@contextmanager
def _each(words: Words, lost: Name | None = None) -> Generator[Sum]:
    """Run a block for every element of a row, in vector lanes where it is straight code."""
    name = words.body.name("j")
    with words.body.block() as statements:
        yield counter(name, words.n)
    words.body.add(words.each(name, statements, lost))


def _order(words: Words, parts: Sequence[Part], lost: Name | None = None) -> Name:
    """The array whose words end with the numbers of the row's elements, sorted by keys."""
    body, n, done = words.body, words.n, None
    for word, bits in reversed(parts):
        array = done or words.words
        with _each(words, lost) as j:
            number = j
            if done:
                name = body.let("s64", "number", Cast("u32", item(done, j)))
                number = unknown(name.name, 0, n - 1)
            low = Cast("u64", Group(indexed(number)))
            body.assign(item(array, j), Cast("u64", word(number)) << 32 | low)
        spare = words.spare
        if done and array != words.words and n > machine.INSERTED:
            spare = body.variable(
                Pointer("u64"), "other", Choose(binary("==", done, words.words), spare, words.words)
            )
        done = words.sorted("u64", array, spare, 32, bits)
    assert done is not None
    return done


def _write_alone(
    body: Body, instr: Instruction, key: SortKey, output: Name, *, in_chunks: bool
) -> int:
    """Sort one array of at most 32 bits by one key; gives the bytes of scratch."""
    shape = instr.operands[0].shape
    n = shape.dims[_axis(instr)]
    if _is_counted(n, key, shape.element_type):
        _write_counting_sort(body, instr, key, output)
        return 0
    exact = n > machine.INSERTED and _is_exact(key, shape.element_type)
    in_parts = in_chunks and n == shape.size >= machine.IN_PARTS and key.tells(shape.element_type)
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
    return own and key.bits == element_type.bits and n >= machine.COUNTED.get(key.bits, n + 1)


def _write_counting_sort(body: Body, instr: Instruction, key: SortKey, output: Name) -> None:
    """Count how often each key occurs in a row, and write it as often."""
    operand = instr.operands[0]
    element_type, dims = operand.shape.element_type, operand.shape.dims
    axis, size = _axis(instr), 1 << key.bits
    with _rows(body, operand.shape, axis) as at:
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
            word = body.let("u32", "key", apply("next_counted", counts))
            sign = size >> 1 if element_type.kind == "signed" else 0
            flipped = (size - 1 if key.descending else 0) ^ sign
            bits = word ^ Literal(flipped, "u32", hexadecimal=True)
            made = store(element_type, from_bits(body, bits, element_type))
            body.assign(item(output, linear(at(j), dims)), made)
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
    with _rows(body, operand.shape, _axis(instr)) as at:

        def word(j: Sum) -> tuple[Expr, Expr]:
            value = body.element(operand, at(j))
            return value, word_of_key(body, instr, key, [value])

        def put(j: Sum, bits: Expr) -> None:
            made = store(element_type, from_bits(body, bits, element_type))
            body.assign(item(output, linear(at(j), dims)), made)

        if words.n <= machine.INSERTED or not key.tells(element_type):
            _sort_with_elements(words, element_type, key.bits, word, put)
            return
        array, spare = words.pair("u32")
        if words.chunks:  # a row alone: the words have room where the result goes
            array = body.variable(Pointer("u32"), "words", Cast(Pointer("u32"), output))
        lost = None if exact else body.variable("u32", "lost", 0)
        with _each(words, lost) as j:
            value, key_word = word(j)
            made = body.let("u32", "key", key_word)
            body.assign(item(array, j), made)
            if lost:
                _note_loss(body, lost, key, made, value)
        with body.block() as by_key:
            done = words.sorted("u32", array, spare, 0, key.bits)
            with _each(words) as j:
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
    with _each(words) as j:
        value, key = word(j)
        made = Cast(kind, key) << low | bits_of(body, value, element_type)
        body.assign(item(array, j), made)
    done = words.sorted(kind, array, spare, low, bits)
    with _each(words) as j:
        put(j, item(done, j))


def write_topk(
    body: Body, instr: Instruction, outputs: Sequence[Name], *, in_chunks: bool = True
) -> int:
    """The first k of each row of the last dimension, in order; of equal elements the first.

    Parameters
    ----------
    in_chunks : as of `Words`.
    """
    attrs = a.TopK.of(instr)
    operand, k = instr.operands[0], attrs.k
    *others, n = operand.shape.dims
    key = SortKey(operand, 0, descending=attrs.largest, total=True)
    few = k <= machine.MOST_KEPT or (k <= machine.MOST_KEPT_OF_MANY and machine.MANY_KEYS * k <= n)
    scans = few and 0 < k < n and key.bits <= 32
    words = None if scans else Words(body, n, prod(others), in_chunks=in_chunks)
    with _rows(body, operand.shape, len(others)) as at:

        def word(j: Sum) -> Expr:
            return key.word(body.element(operand, at(j)))

        order = _order(words, parts_of(key, word)) if words else _write_least(body, word, n, k)
        with body.lanes(["j"], [k]) as (j,):
            number = body.let("s64", "number", Cast("u32", item(order, j)))
            target = linear(at(j), (*others, k))
            element = body.element(operand, at(unknown(number.name, 0, n - 1)))
            body.assign(item(outputs[0], target), body.stored(operand.shape.element_type, element))
            body.assign(item(outputs[1], target), Cast("s32", number))
    return words.scratch_bytes if words else 0


def _write_least(body: Body, word: Callable[[Sum], Expr], n: int, k: int) -> Name:
    """Find the k least words of a row, sorted, while it is read in blocks.

    Few blocks have a key below the worst of those that are kept: k log(n / k) of a random row. If k
    is small, words are inserted among the k least. Else up to 4 k are collected, and then the k
    least of them are kept.
    """
    sorts = k <= machine.MOST_KEPT_SORTED
    least = body.variable(
        "u64", "least", size=k if sorts else 2 + 4 * k + min(machine.BLOCK_OF_COMPARED, n)
    )
    worst = item(least, k - 1 if sorts else 0)
    if sorts:
        with body.lanes(["j"], [k]) as (j,):
            body.assign(item(least, j), ~Cast("u64", Literal(0)))
    else:
        body.assign(worst, ~Cast("u64", Literal(0)))
        body.assign(item(least, 1), 0)
    block = body.variable("u32", "keys", size=min(machine.BLOCK_OF_COMPARED, n))
    whole = n // machine.BLOCK_OF_COMPARED * machine.BLOCK_OF_COMPARED
    base = body.name("first")
    for start, stop, size in ((0, whole, machine.BLOCK_OF_COMPARED), (whole, n, n - whole)):
        if start == stop:
            continue
        with body.block() as statements:
            bound = body.let("u32", "bound", Cast("u32", worst >> 32))
            found = body.variable("u32", "found", 0)
            name = body.name("j")
            with body.block() as compared:
                offset = counter(name, size)
                low = body.let("u32", "key", word(offset + unknown(base, start, n - size)))
                body.assign(item(block, offset), low)
                body.assign(found, found | Group(binary("<=", low, bound)))
            simd = straight(compared)
            lanes = (("|", found.name),) if simd else ()
            body.add(For(name, size, tuple(compared), simd=simd, reductions=lanes))
            with body.block() as kept:
                body.call(
                    "insert_least" if sorts else "keep_least", least, k, block, size, Name(base)
                )
            body.add(If(found, tuple(kept)))
        body.add(For(base, stop, tuple(statements), start=start, step=size))
    if not sorts:
        body.call("sort_least", least, k)
    return least


elements.define_all(
    {"sort": WholeArray(write_sort, in_memory=()), "topk": WholeArray(write_topk, in_memory=())}
)
