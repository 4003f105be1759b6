"""Sort and topk.

A comparator is any computation, so sorting by it needs a sorting network: a fixed list of
exchanges, of which many are done at once. Most comparators however compare one key of the left
elements with the same key of the right ones. That shows when the comparator is cut in two: then
the keys are computed once and NumPy sorts them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.attributes import Compare, ParameterNumber
from interpreter.arithmetic import total_order
from interpreter.lift import lifted
from interpreter.numbers.widths import type_of, widened
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hlo import attributes as a
    from hlo.instruction import Computation, Instruction
    from interpreter.engine.frame import Frame

    Array = NDArray[Any]


@evaluates("sort", xla="Sort")
def evaluate_sort(
    frame: Frame, instr: Instruction, attrs: a.Sort, *operands: Array
) -> Array | tuple[Array, ...]:
    """Sort arrays together along a dimension.

    The sort is stable, asked for or not. Where the comparator contradicts itself, as LT does for
    NaN, the order is some order.

    Parameters
    ----------
    operands : n arrays of one shape. The comparator takes a left and a right scalar of each, and
        tells whether the left ones must come first.
    """
    axis = attrs.dimensions[0]
    comparator = instr.called[0]
    rows = [np.moveaxis(operand, axis, -1) for operand in operands]
    order = _order_by_key(frame, comparator, rows)
    if order is None:
        order = _order_by_network(frame, comparator, rows)
    taken = (np.take_along_axis(row, order, -1) for row in rows)
    results = tuple(np.moveaxis(row, -1, axis) for row in taken)
    return results if instr.shape.is_tuple else results[0]


def _order_by_key(frame: Frame, comparator: Computation, rows: Sequence[Array]) -> Array | None:
    """The order of the last axis, if the comparator is `key(left) < key(right)`, or `>`."""
    root = comparator.root
    if root.opcode != "compare" or Compare.of(root).direction not in ("LT", "GT"):
        return None
    left, right = root.operands
    sides = (_parities(comparator, left), _parities(comparator, right))
    if sides not in (({0}, {1}), ({1}, {0})):
        return None
    arguments = [row for row in rows for _ in range(2)]
    key, twin = (lifted(frame, replace(comparator, root=r), *arguments)[0] for r in (left, right))
    if key.tobytes() != twin.tobytes():
        return None
    total = Compare.of(root).type == "TOTALORDER"
    wide = widened(key)
    if type_of(key).is_floating:
        if total:
            wide = total_order(wide)
        elif np.isnan(wide).any():
            return None
    descending = (Compare.of(root).direction == "GT") != (sides[0] == {1})
    return stable_order(wide, descending=descending)


def _parities(comparator: Computation, instr: Instruction) -> set[int]:
    """The sides that an instruction depends on: 0 for left parameters, 1 for right ones."""
    needed = {instr}
    for earlier in reversed(comparator.instructions):
        if earlier in needed:
            needed.update(earlier.operands)
    return {ParameterNumber.of(p).number % 2 for p in comparator.parameters if p in needed}


def stable_order(keys: Array, *, descending: bool) -> Array:
    """The order of the last axis by keys; equal keys stay as they are."""
    if not descending:
        return np.argsort(keys, axis=-1, kind="stable")
    # The ascending order of the reversed array, read backwards, is descending and stable.
    backwards = np.argsort(keys[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    return keys.shape[-1] - 1 - backwards


def first_in_order(keys: Array, k: int, *, descending: bool) -> Array:
    """The first k of `stable_order`; only candidates are sorted where they are few.

    Candidates are before the k-th key or equal to it. Each row keeps its k first ones of those: all
    that are before it, and of the equal ones those of the lowest indices.
    """
    n = keys.shape[-1]
    if not 0 < k <= n // 4:
        return stable_order(keys, descending=descending)[..., :k]
    at = n - k if descending else k - 1
    last = np.partition(keys, at, axis=-1)[..., at : at + 1]
    before = keys > last if descending else keys < last
    equal = keys == last
    missing = k - np.count_nonzero(before, axis=-1, keepdims=True)
    chosen = before | (equal & (np.cumsum(equal, axis=-1) <= missing))
    # Rows keep equally many, so their indices make an array; they rise in each row.
    indices = np.nonzero(chosen)[-1].reshape(*keys.shape[:-1], k)
    order = stable_order(np.take_along_axis(keys, indices, -1), descending=descending)
    return np.take_along_axis(indices, order, -1)


def _order_by_network(frame: Frame, comparator: Computation, rows: Sequence[Array]) -> Array:
    """The order of the last axis, by compare-and-exchange; elements keep their numbers."""
    n: int = rows[0].shape[-1]
    order: Array = np.broadcast_to(np.arange(n), rows[0].shape)
    # The last axis in front, so that an exchange moves whole rows.
    arrays = [np.moveaxis(x, -1, 0).copy() for x in (*rows, order)]
    for low, high in _exchanges(n):
        lefts, rights = [x[low] for x in arrays], [x[high] for x in arrays]
        before = _before(frame, comparator, lefts, rights)
        for x, left, right in zip(arrays, lefts, rights, strict=True):
            x[low] = np.where(before, left, right)
            x[high] = np.where(before, right, left)
    return np.moveaxis(arrays[-1], 0, -1)


def _before(
    frame: Frame, comparator: Computation, lefts: list[Array], rights: list[Array]
) -> Array:
    """Whether left elements come before right ones; of equal ones, that with the lower number."""

    def less(xs: list[Array], ys: list[Array]) -> Array:
        pairs = [side for pair in zip(xs[:-1], ys[:-1], strict=True) for side in pair]
        return lifted(frame, comparator, *pairs)[0]

    return less(lefts, rights) | (~less(rights, lefts) & (lefts[-1] < rights[-1]))


def _exchanges(n: int) -> Iterator[tuple[Array, Array]]:
    """Batcher's merge exchange: pairs of positions that can be exchanged at once, step by step.

    References
    ----------
    D. Knuth, The Art of Computer Programming, volume 3, algorithm 5.2.2M.
    """
    if n < 2:
        return
    top = 1 << ((n - 1).bit_length() - 1)
    p = top
    while p:
        q, r, distance = top, 0, p
        while True:
            low = np.arange(n - distance)
            low = low[low & p == r]
            yield low, low + distance
            if q == p:
                break
            distance, q, r = q - p, q >> 1, p
        p >>= 1


@evaluates("topk", xla="TopK")
def evaluate_topk(_instr: Instruction, attrs: a.TopK, operand: Array) -> tuple[Array, Array]:
    """Find the k largest or smallest elements of the last dimension, in order.

    Equal elements come by rising index. Floats are in total order, so NaN is the largest.

    Returns
    -------
    tuple of Array
        values and s32 indices, both of shape (..., k)
    """
    keys = widened(operand)
    if type_of(operand).is_floating:
        keys = total_order(keys)
    order = first_in_order(keys, attrs.k, descending=attrs.largest)
    return np.take_along_axis(operand, order, -1), order.astype(np.int32)
