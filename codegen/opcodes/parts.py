"""Sort a long row whose keys do not tell its elements, in no more memory than sorts the keys.

Words of a key and an element are twice as long as keys. But once the keys are sorted, they tell
where each key's elements go, so that the row can be sorted in parts:

    until all is sorted:
        take the next part of the sorted keys, a quarter of the row at most
        find the elements that have these keys, in the row's order
        sort them by their keys, and put them where these keys are

The elements of one key that are more than that need no sorting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.expressions import Cast, Name, apply, binary, conjoined, item
from codegen.kinds import Pointer
from codegen.opcodes.bits import bits_of
from codegen.statements import Assign, Break, For, Forever, If
from hlo.types.element_type import U64
from optimizer.analysis.indexing import counter

if TYPE_CHECKING:
    from collections.abc import Callable

    from codegen.expressions import Expr
    from codegen.opcodes.words import Words
    from hlo.types.element_type import ElementType
    from optimizer.analysis.indexing import Sum


def sort_in_parts(
    words: Words,
    keys: Name,
    element_type: ElementType,
    word: Callable[[Sum], tuple[Expr, Expr]],
) -> None:
    """Put the bits of the row's elements, which have 32, into an array of their keys, sorted.

    Parameters
    ----------
    keys : those of the row's elements.
    word : gives the value of an element and its key.
    """
    body, n, counts = words.body, words.n, words.counts
    assert counts
    words.sorted("u32", keys, words.spare, 0, 32)
    most = n // 4
    room = body.variable(Pointer("u64"), "room", Cast(Pointer("u64"), words.spare))
    begin = body.variable("s64", "begin", 0)
    with body.block() as part:
        body.add(Break(binary(">=", begin, n)))
        end = body.let("s64", "end", apply(FUNCTIONS["end_of_part"], keys, begin, n, most))
        first = body.let("u32", "first", item(keys, begin))
        last = body.let("u32", "last", item(keys, end - 1))
        count = body.variable("s64", "count", 0)
        name = body.name("j")
        with body.block() as gathered:
            value, key_word = word(counter(name, n))
            key = body.let("u32", "key", key_word)
            bits = body.let("u32", "bits", bits_of(body, value, element_type))
            pair = Cast("u64", key) << 32 | bits
            alone = Assign(item(keys, begin + count), bits)
            one_of_many = Assign(item(room, count), pair)
            choice = If(binary("==", first, last), (alone,), (one_of_many,))
            within = conjoined([binary("<=", first, key), binary("<=", key, last)])
            body.add(If(within, (choice, Assign(count, count + 1))))
        body.add(For(name, n, tuple(gathered)))
        with body.block() as sorted_:
            given = room, room + most, counts, count, words.chunks, 32
            body.call(FUNCTIONS["hlo_bucket_sort", U64], *given)
            name = body.name("j")
            put = Assign(item(keys, begin + Name(name)), Cast("u32", item(room, Name(name))))
            body.add(For(name, count, (put,), trip_count=most))
        body.add(If(binary("<", first, last), tuple(sorted_)))
        body.assign(begin, end)
    body.add(Forever(tuple(part)))
