"""Kernels that sort rows, and that find the largest elements of rows.

Where the comparator compares keys, each element becomes one word: its key above its number in the
row (or above the element itself, if there is nothing else to move). Words are sorted digit by
digit. Keys of 64 bits, and several keys, are sorted in turns, the least important bits first.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from emit_c.code.indexing import counter, linear, unknown
from emit_c.code.loops import For, If, straight
from emit_c.code.types import store
from emit_c.kernels.body import Body, Environment
from emit_c.opcodes.comparators import Key, keys
from emit_c.opcodes.folding import over
from emit_c.opcodes.merging import write_merge_sort
from emit_c.opcodes.movement import bits_of, from_bits
from emit_c.table import Kernel, emits_c

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from emit_c.code.indexing import Index, Sum
    from hlo import attributes as a
    from hlo.instruction import Instruction
    from hlo.shape import Shape

    Place = Callable[[Sum], Index]
    Part = tuple[Callable[[Sum], str], int]  # a key's word at a place of the row, and its bits

# Rows up to which inserting is faster than counting digits.
FEW = 40
# Rows from which on digits of 11 bits pay, of which there are 2048 to count; else of 8.
MANY = 4096
# The k up to which the k least are kept sorted while a row is read.
MOST_KEPT = 128
# Keys that are compared with the worst one kept before any is looked at alone.
BLOCK = 256


def write_sort(body: Body, instr: Instruction, outputs: Sequence[str]) -> None:
    """Sort by the comparator's keys, or by the comparator itself."""
    found = keys(instr.called[0])
    shape, axis = instr.operands[0].shape, _axis(instr)
    if not found or shape.dims[axis] >= 1 << 31:
        write_merge_sort(body, instr, outputs)
        return
    if len(instr.operands) == len(found) == 1 and shape.element_type.bits <= 32 >= found[0].bits:
        _write_single_sort(body, instr, found[0], outputs[0])
        return
    n = shape.dims[axis]
    arrays = _Words(body, "u64", n)
    with _rows(body, shape, axis) as at:

        def value(key: Key) -> Callable[[Sum], str]:
            return lambda j: _key(
                body, instr, key, [body.element(o, at(j)) for o in instr.operands]
            )

        order = arrays.order([part for key in found for part in _parts(key, value(key))])
        with _each(body, n) as j:
            number = body.let("s64", "number", f"(u32){order}[{j.text}]")
            target = linear(at(j), shape.dims).text
            for output, operand in zip(outputs, instr.operands, strict=True):
                element = body.element(operand, at(unknown(number, 0, n - 1)))
                body.assign(f"{output}[{target}]", store(operand.shape.element_type, element))


def _axis(instr: Instruction) -> int:
    attrs: a.Sort = instr.attrs  # type: ignore[assignment]
    return attrs.dimensions[0]


def _key(body: Body, instr: Instruction, key: Key, values: Sequence[str]) -> str:
    """The word of a comparator's key, for an element of each of the sorted arrays."""
    environment = Environment()
    for parameter in instr.called[0].parameters:
        number: int = parameter.attrs.number  # type: ignore[attr-defined]
        if number % 2 == key.side:
            environment.scalars[parameter] = (values[number // 2],)
    return key.word(Body(body.writer, environment).element(key.value, ()))


def _parts(key: Key, value: Callable[[Sum], str]) -> list[Part]:
    """A key's word, or its halves."""
    if key.bits <= 32:
        return [(value, key.bits)]
    return [(lambda j: f"({value(j)} >> 32)", 32), (lambda j: f"(u32){value(j)}", 32)]


@contextmanager
def _rows(body: Body, shape: Shape, axis: int) -> Generator[Place]:
    """Run a block for every row along an axis; gives the index of a place in the row."""
    others = [1 if d == axis else size for d, size in enumerate(shape.dims)]
    with body.loops([f"i{d}" for d in range(shape.rank)], others, parallel=True) as place:
        yield lambda j: (*place[:axis], j, *place[axis + 1 :])


@contextmanager
def _each(body: Body, n: int) -> Generator[Sum]:
    """Run a block for every place of a row, in vector lanes where it is straight code."""
    name = body.name("j")
    with body.block() as statements:
        yield counter(name, n)
    body.add(over(name, n, statements))


class _Words:
    """Two arrays of words in each thread's own memory, for one row."""

    def __init__(self, body: Body, kind: str, n: int) -> None:
        self.body, self.kind, self.n = body, kind, n
        each = int(kind[1:]) // 8
        self.words = body.own(kind, "words", n, each)
        self.spare = body.own(kind, "spare", n, each) if n > FEW else self.words

    def sorted(self, words: str, spare: str, low: int, bits: int) -> str:
        """The array that holds the words, sorted by some bits."""
        most = 11 if self.n >= MANY else 8
        digits = -(-bits // most)
        ways = f"{digits}, {-(-bits // digits)}"
        call = f"radix_sort_{self.kind}({words}, {spare}, {self.n}, {low}, {ways})"
        if self.n <= FEW:
            call = f"insertion_sort_{self.kind}({words}, {self.n}, {low})"
        return self.body.variable(f"{self.kind} *", "sorted", call)

    def order(self, parts: Sequence[Part]) -> str:
        """The array whose words end with the numbers of the row's elements, sorted by keys."""
        body, done = self.body, ""
        for word, bits in reversed(parts):
            array = done or self.words
            with _each(body, self.n) as j:
                number = j
                if done:
                    name = body.let("s64", "number", f"(u32){done}[{j.text}]")
                    number = unknown(name, 0, self.n - 1)
                body.assign(
                    f"{array}[{j.text}]", f"(u64){word(number)} << 32 | (u64)({number.text})"
                )
            spare = self.spare
            if done and self.n > FEW:
                spare = body.variable(
                    "u64 *", "other", f"{done} == {self.words} ? {spare} : {self.words}"
                )
            done = self.sorted(array, spare, 32, bits)
        return done


def _write_single_sort(body: Body, instr: Instruction, key: Key, output: str) -> None:
    """Sort words of an element's key and its bits: so the elements themselves are moved."""
    operand, axis = instr.operands[0], _axis(instr)
    kind, n = operand.shape.element_type, operand.shape.dims[axis]
    low = 8 * kind.bytes
    arrays = _Words(body, "u32" if low + key.bits <= 32 else "u64", n)
    with _rows(body, operand.shape, axis) as at:
        with _each(body, n) as j:
            value = body.element(operand, at(j))
            word = f"({arrays.kind}){_key(body, instr, key, [value])} << {low}"
            body.assign(f"{arrays.words}[{j.text}]", f"{word} | {bits_of(body, value, kind)}")
        done = arrays.sorted(arrays.words, arrays.spare, low, key.bits)
        with _each(body, n) as j:
            made = store(kind, from_bits(body, f"{done}[{j.text}]", kind))
            body.assign(f"{output}[{linear(at(j), operand.shape.dims).text}]", made)


def write_topk(body: Body, instr: Instruction, outputs: Sequence[str]) -> None:
    """The first k of each row of the last dimension, in order; of equal elements the first."""
    attrs: a.TopK = instr.attrs  # type: ignore[assignment]
    operand, k = instr.operands[0], attrs.k
    *others, n = operand.shape.dims
    key = Key(operand, 0, descending=attrs.largest, total=True)
    scans = k <= MOST_KEPT and 0 < k < n and key.bits <= 32
    arrays = None if scans else _Words(body, "u64", n)
    with _rows(body, operand.shape, len(others)) as at:

        def word(j: Sum) -> str:
            return key.word(body.element(operand, at(j)))

        order = arrays.order(_parts(key, word)) if arrays else _write_least(body, word, n, k)
        with _each(body, k) as j:
            number = body.let("s64", "number", f"(u32){order}[{j.text}]")
            target = linear(at(j), (*others, k)).text
            element = body.element(operand, at(unknown(number, 0, n - 1)))
            body.assign(f"{outputs[0]}[{target}]", store(operand.shape.element_type, element))
            body.assign(f"{outputs[1]}[{target}]", f"(s32){number}")


def _write_least(body: Body, word: Callable[[Sum], str], n: int, k: int) -> str:
    """Keep the k least words of a row, sorted, while it is read in blocks.

    Few blocks have a key below the worst of those that are kept: k log(n / k) of a random row.
    """
    least = body.variable("u64", "least", size=k)
    with _each(body, k) as j:
        body.assign(f"{least}[{j.text}]", "~(u64)0")
    block = body.variable("u32", "keys", size=min(BLOCK, n))
    whole = n // BLOCK * BLOCK
    base = body.name("first")
    for start, stop, size in ((0, whole, BLOCK), (whole, n, n - whole)):
        if start == stop:
            continue
        with body.block() as statements:
            worst = body.let("u32", "worst", f"(u32)({least}[{k - 1}] >> 32)")
            found = body.variable("u32", "found", "0")
            name = body.name("j")
            with body.block() as compared:
                offset = counter(name, size)
                low = body.let("u32", "key", word(offset + unknown(base, start, n - size)))
                body.assign(f"{block}[{offset.text}]", low)
                body.assign(found, f"{found} | ({low} <= {worst})")
            simd = straight(compared)
            lanes = (("|", found),) if simd else ()
            body.add(For(name, size, tuple(compared), simd=simd, reductions=lanes))
            with body.block() as kept:
                body.call("keep_least", least, str(k), block, str(size), base)
            body.add(If(found, tuple(kept)))
        body.add(For(base, stop, tuple(statements), start=start, step=size))
    return least


emits_c.define_all(
    {"sort": Kernel(write_sort, in_memory=()), "topk": Kernel(write_topk, in_memory=())}
)
