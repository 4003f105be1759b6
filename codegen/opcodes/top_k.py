"""Kernels that find the largest or smallest elements of rows."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.elements.table import WholeArray, elements
from codegen.expressions import Cast, Group, Literal, Name, binary, item
from codegen.opcodes.comparators import SortKey, parts_of
from codegen.opcodes.words import Words, rows_along
from codegen.statements import For, If, straight
from hlo import attributes as a
from optimizer.analysis.indexing import counter, linear, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Sum

BLOCK_OF_COMPARED = 256
"""Measured: keys that are compared with the worst one kept before any is looked at alone. With 64
or 1024, nearest neighbours take 1.5 times the CPU time."""
MOST_KEPT, MOST_KEPT_OF_MANY, MANY_KEYS = 128, 256, 16
"""Measured: the k up to which the k least are collected while a row is read, and up to which they
are where it has so many times as many keys. k * k comparisons sort them in the end. If rows are
sorted, 200 of 100,000 take 11 times as long and 128 of 20,000 6 times; 256 of 400 take 0.4."""
MOST_KEPT_SORTED = 16
"""Measured: the k up to which the k least are sorted all the time. With 0, assignment by auction
takes 2.2 times as long and `top_k` of 16 1.4; nearest neighbours 0.9."""


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
    few = k <= MOST_KEPT or (k <= MOST_KEPT_OF_MANY and MANY_KEYS * k <= n)
    scans = few and 0 < k < n and key.bits <= 32
    words = None if scans else Words(body, n, prod(others), in_chunks=in_chunks)
    with rows_along(body, operand.shape, len(others)) as at:

        def word(j: Sum) -> Expr:
            return key.word(body.element(operand, at(j)))

        order = words.ordered(parts_of(key, word)) if words else _write_least(body, word, n, k)
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
    sorts = k <= MOST_KEPT_SORTED
    least = body.variable(
        "u64", "least", size=k if sorts else 2 + 4 * k + min(BLOCK_OF_COMPARED, n)
    )
    worst = item(least, k - 1 if sorts else 0)
    if sorts:
        with body.lanes(["j"], [k]) as (j,):
            body.assign(item(least, j), ~Cast("u64", Literal(0)))
    else:
        body.assign(worst, ~Cast("u64", Literal(0)))
        body.assign(item(least, 1), 0)
    block = body.variable("u32", "keys", size=min(BLOCK_OF_COMPARED, n))
    whole = n // BLOCK_OF_COMPARED * BLOCK_OF_COMPARED
    base = body.name("first")
    for start, stop, size in ((0, whole, BLOCK_OF_COMPARED), (whole, n, n - whole)):
        if start == stop:
            continue
        with body.block() as statements:
            bound = body.let("u32", "bound", Cast("u32", worst >> 32))
            any_found = body.variable("u32", "found", 0)
            name = body.name("j")
            with body.block() as compared:
                offset = counter(name, size)
                low = body.let("u32", "key", word(offset + unknown(base, start, n - size)))
                body.assign(item(block, offset), low)
                body.assign(any_found, any_found | Group(binary("<=", low, bound)))
            simd = straight(compared)
            lanes = (("|", any_found.name),) if simd else ()
            body.add(For(name, size, tuple(compared), simd=simd, reductions=lanes))
            with body.block() as inside_block:
                body.call(
                    FUNCTIONS["hlo_insert_least" if sorts else "hlo_keep_least"],
                    least,
                    k,
                    block,
                    size,
                    Name(base),
                )
            body.add(If(any_found, tuple(inside_block)))
        body.add(For(base, stop, tuple(statements), start=start, step=size))
    if not sorts:
        body.call(FUNCTIONS["hlo_sort_least"], least, k)
    return least


elements.define("topk", WholeArray(write_topk, in_memory=()))
