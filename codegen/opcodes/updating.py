"""Kernels that copy an array and change some elements, or those that windows select."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.elements.memory import copied
from codegen.elements.table import WholeArray, elements
from codegen.elements.types import load, store
from codegen.expressions import (
    NEVER,
    Cast,
    Expr,
    Literal,
    Name,
    binary,
    conjoined,
    indexed,
    item,
    negated,
)
from codegen.kinds import wide
from codegen.opcodes.folding import window_element
from codegen.opcodes.movement import vector_index, window_start
from codegen.statements import If
from codegen.walk import address_of
from hlo import attributes as a
from optimizer.analysis.indexing import Sum, linear, unknown
from optimizer.gpu.atomics import update_dims_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from codegen.elements.body import Body
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from optimizer.analysis.indexing import Index

    Combine = Callable[[Body, Instruction, Sequence[Name], Index, Index], None]

MOST_SCATTERED, LEAST_SCATTERED = 4, 1024
"""Chosen: parts into which the windows of a scatter are cut. Measured: elements of one. Each part
goes through all indices: parts of 128 elements take up to three times the CPU time of a whole
window, parts of 1024 up to 1.5 times. No program's C changes with half or twice of either."""


def copy(body: Body, target: Name, source: Instruction) -> None:
    """Copy an array that is in memory, unless it is updated where it is."""
    size = source.shape.size * source.shape.element_type.bytes
    if body.pointer(source) != target:
        body.add(copied(target, body.pointer(source), size))


def put(body: Body, array: Name, shape: Shape, index: Index, value: Expr) -> None:
    """Store a wide value at an index."""
    element = item(array, linear(index, shape.dims))
    body.assign(element, body.stored(shape.element_type, value))


def write_dynamic_update_slice(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """The operand, then the update over it.

    Where starts are constant and the update covers at least half of the operand, only the elements
    around the update are copied.
    """
    operand, update, *starts = instr.operands
    dims, sizes = operand.shape.dims, update.shape.dims
    first = window_start(body, starts, dims, sizes)
    if any(start.terms for start in first) or 2 * update.shape.size < operand.shape.size:
        copy(body, outputs[0], operand)
    else:
        _copy_around(body, outputs[0], operand, first, sizes)
    with body.lanes([f"u{d}" for d in range(len(dims))], sizes, parallel=True) as index:
        value = body.element(update, index)
        at = tuple(f + i for f, i in zip(first, index, strict=True))
        put(body, outputs[0], operand.shape, at, value)


def _copy_around(
    body: Body, target: Name, source: Instruction, first: Index, sizes: Sequence[int]
) -> None:
    """Copy the elements around a window, unless an array is updated where it is."""
    pointer, dims = body.pointer(source), source.shape.dims
    if pointer == target:
        return
    for d, (start, size, n) in enumerate(zip(first, sizes, dims, strict=True)):
        inner = prod(dims[d + 1 :]) * source.shape.element_type.bytes
        for low, high in ((0, start.constant), (start.constant + size, n)):
            if low == high:
                continue
            with body.loops([f"c{k}" for k in range(d)], sizes[:d]) as index:
                inside = (f + i for f, i in zip(first[:d], index, strict=True))
                at = linear((*inside, Sum(low), *[Sum(0)] * (len(dims) - d - 1)), dims)
                ends = address_of(target, at), address_of(pointer, at)
                body.add(copied(*ends, (high - low) * inner))


def write_scatter(
    body: Body,
    instr: Instruction,
    outputs: Sequence[Name],
    combine: Combine | None = None,
    *,
    apart: Collection[int] = (),
    together: int = 1,
) -> None:
    """The operands, then the updates combined into them, one after the other.

    A window that does not lie in the operand whole is dropped.

    Parameters
    ----------
    combine : combines elements of the updates, in any order and at the same time.
    apart : dimensions of the updates of which each index has updates of its own, at the same time
        as the others, as `update_dims_apart` tells; else the innermost is cut into some parts.
    together : neighbours that `combine` combines when it is given the first of them.
    """
    attrs = a.Scatter.of(instr)
    half = len(instr.operands) // 2
    arrays, updates = instr.operands[:half], instr.operands[half + 1 :]
    for target, array in zip(outputs, arrays, strict=True):
        copy(body, target, array)
    if not arrays[0].shape.size or not updates[0].shape.size:
        return
    update_dims, window_dims = updates[0].shape.dims, _window_dims(instr)
    inside = [n if d in attrs.update_window_dims else 1 for d, n in enumerate(update_dims)]
    outside = [n if d not in attrs.update_window_dims else 1 for d, n in enumerate(update_dims)]
    rank = range(len(update_dims))
    last = len(update_dims) - 1
    parts = [n if d in apart else 1 for d, n in enumerate(update_dims)]
    if not apart and combine is None and last in update_dims_apart(instr):
        parts[last] = _parts(inside[last])
    inside = [n // count for n, count in zip(inside, parts, strict=True)]
    if combine is not None:
        outside, inside = list(update_dims), [1] * len(update_dims)
        outside[last:] = [n // together for n in outside[last:]]
    with (
        body.loops(["part" for _ in rank], parts, parallel=True) as part,
        body.loops([f"u{d}" for d in rank], outside, parallel=combine is not None) as turn,
    ):
        outer = (*turn[:-1], *(t * together for t in turn[-1:]))
        batch = [part for d, part in enumerate(outer) if d not in attrs.update_window_dims]
        starts, fits = _window_starts(body, instr, batch)
        with (
            body.when(fits),
            body.lanes([f"w{d}" for d in rank], inside) as inner,
        ):
            offset = [p * n + o for p, n, o in zip(part, inside, inner, strict=True)]
            index = tuple(p + o for p, o in zip(outer, offset, strict=True))
            at = [
                s + index[window_dims[d]] if d in window_dims else s for d, s in enumerate(starts)
            ]
            (combine or combine_elements)(body, instr, outputs, tuple(at), index)


def _window_dims(instr: Instruction) -> dict[int, int]:
    """The dimensions of a scatter's operands along which windows reach, to those of its updates."""
    attrs = a.Scatter.of(instr)
    dropped = (*attrs.inserted_window_dims, *attrs.input_batching_dims)
    window = [d for d in range(instr.operands[0].shape.rank) if d not in dropped]
    return dict(zip(window, attrs.update_window_dims, strict=True))


def _window_starts(
    body: Body, instr: Instruction, batch: Sequence[Sum]
) -> tuple[list[Sum], Expr | None]:
    """Where a window of a scatter begins, and a condition that it lies in the operand whole."""
    attrs, half = a.Scatter.of(instr), len(instr.operands) // 2
    operand, indices, update = instr.operands[0], instr.operands[half], instr.operands[half + 1]
    dims, window_dims = operand.shape.dims, _window_dims(instr)
    starts = [Sum(0)] * len(dims)
    conditions: list[Expr] = []
    for k, d in enumerate(attrs.scatter_dims_to_operand_dims):
        value = body.element(indices, vector_index(batch, attrs.index_vector_dim, indices, k))
        limit = dims[d] - (update.shape.dims[window_dims[d]] if d in window_dims else 1)
        start = body.let("s64", f"start_{d}", Cast("s64", value))
        conditions += [binary(">=", start, 0), binary("<=", start, limit)]
        starts[d] = starts[d] + unknown(start.name, 0, max(limit, 0) + 1)
    pairs = zip(attrs.input_batching_dims, attrs.scatter_indices_batching_dims, strict=True)
    for d, k in pairs:
        starts[d] = batch[k - (k > attrs.index_vector_dim)]
        if starts[d].high >= dims[d]:
            conditions.append(binary("<", indexed(starts[d]), dims[d]))
    return starts, conjoined(conditions) if conditions else None


def _parts(n: int) -> int:
    """Into how many parts windows are cut, along n neighbours in memory.

    Windows may overlap; but where they all begin at the first of these neighbours, an element of
    the result is always in the same part.
    """
    counts = range(1, max(min(MOST_SCATTERED, n // LEAST_SCATTERED), 1) + 1)
    return max(k for k in counts if n % k == 0)


def combine_elements(
    body: Body, instr: Instruction, outputs: Sequence[Name], at: Index, index: Index
) -> None:
    """Combine the elements of a scatter's updates at an index into those of its results."""
    half = len(instr.operands) // 2
    shapes = [x.shape for x in instr.operands[:half]]
    number = body.let("s64", "at", indexed(linear(at, shapes[0].dims)))
    olds = [
        body.loaded_from(s.element_type, item(target, number), "old")
        for s, target in zip(shapes, outputs, strict=True)
    ]
    news = [body.element(u, index) for u in instr.operands[half + 1 :]]
    combined = body.apply(instr.called[0], *olds, *news)
    for shape, target, value in zip(shapes, outputs, combined, strict=True):
        body.assign(item(target, number), body.stored(shape.element_type, value))


def write_select_and_scatter(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """Each element of the source goes to the element that its window selects."""
    attrs = a.Windowed.of(instr)
    operand, source, initial = instr.operands
    select, scatter = instr.called
    kind, output = wide(operand.shape.element_type), outputs[0]
    start = body.scalar(initial)
    with body.lanes(["n"], [instr.shape.size], parallel=True) as (number,):
        body.assign(item(output, number), store(instr.shape.element_type, start))
    rank = source.shape.rank
    with body.loops([f"p{d}" for d in range(rank)], source.shape.dims) as at_source:
        chosen = body.variable("s64", "chosen", Literal(-1))
        best = body.variable(kind, "best", 0)
        with body.loops([f"w{d}" for d in range(rank)], [w.size for w in attrs.window]) as offset:
            condition, at = window_element(at_source, offset, operand.shape.dims, attrs.window)
            if condition != NEVER:
                with body.when(condition):
                    value = body.element(operand, at)
                    taken = body.variable("pred", "taken", binary("<", chosen, 0))
                    with body.block() as comparison:
                        is_kept = body.apply(select, best, value)[0]
                        body.assign(taken, negated(is_kept))
                    body.add(If(negated(taken), tuple(comparison)))
                    with body.block() as replaced:
                        body.assign(best, value)
                        body.assign(chosen, indexed(linear(at, operand.shape.dims)))
                    body.add(If(taken, tuple(replaced)))
        with body.when(binary(">=", chosen, 0)):
            element_type = instr.shape.element_type
            old = body.let(wide(element_type), "old", load(element_type, item(output, chosen)))
            new = body.apply(scatter, old, body.element(source, at_source))[0]
            body.assign(item(output, chosen), store(element_type, new))


elements.define_all(
    {
        "dynamic-update-slice": WholeArray(write_dynamic_update_slice, in_memory=(0,)),
        "scatter": WholeArray(write_scatter),
        "select-and-scatter": WholeArray(write_select_and_scatter, in_memory=()),
    }
)
