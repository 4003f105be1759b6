"""Scattering into values with run-time sizes.

A window that is not to be written is sent nowhere: its index vector becomes -1. That happens to
those that do not count, and to those that do not fit into what is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.types.element_type import S32
from optimizer.dynamic_padder.indexed import wide
from optimizer.dynamic_padder.rules import common, identity, require, rule, several
from optimizer.dynamic_padder.values import Padded, Tree
from optimizer.expanders.parts import counting, equal, less, number, spread, to_type
from optimizer.reducers import identity_of
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Instruction
    from optimizer.dynamic_padder.rules import Sizes


@rule("scatter")
def scatter(instr: Instruction, *operands: Padded) -> Tree:
    """A scatter of the index vectors and updates that count."""
    attrs = a.Scatter.of(instr)
    half = len(operands) // 2
    arrays, indices, updates = operands[:half], operands[half], operands[half + 1 :]
    values = [o.value for o in operands]
    into, news = common(arrays), common(updates)
    if not (into or news or indices.sizes):
        return several(instr, values, {})
    starts = wide(indices.value)
    starts = Padded(starts, _vectors(instr, indices, into, news)).masked(_nowhere(starts))
    beyond: list[int] = []
    for d, update_dim in _windows(attrs, arrays[0].value.shape.rank):
        there, wanted = into.get(d), None if update_dim is None else news.get(update_dim)
        moves = d in attrs.scatter_dims_to_operand_dims
        if update_dim is not None and wanted is not None:
            require(instr, not moves, "its windows move and have a run-time size")
            if wanted is not there:
                beyond.append(update_dim)
        if there is not None and (moves or wanted is not there):
            extent = 1 if update_dim is None else updates[0].value.shape.dims[update_dim]
            room = make("subtract", there, extent if wanted is None else wanted)
            starts = _fitting(starts, attrs, d, room)
    values[half] = starts
    if beyond:
        values[half + 1 :] = _neutral(instr, updates, news, beyond)
    return several(instr, values, into)


def _vectors(instr: Instruction, indices: Padded, into: Sizes, news: Sizes) -> Sizes:
    """The number of index vectors that count: as many as there are updates and matrices, too."""
    attrs = a.Scatter.of(instr)
    vectors = [d for d in range(indices.value.shape.rank) if d != attrs.index_vector_dim]
    require(instr, set(indices.sizes) <= set(vectors), "its index vectors have a run-time size")
    windows = attrs.update_window_dims
    batch = [d for d in range(len(vectors) + len(windows)) if d not in windows]
    updated = {d: news[e] for d, e in zip(vectors, batch, strict=True) if e in news}
    pairs = zip(attrs.scatter_indices_batching_dims, attrs.input_batching_dims, strict=True)
    matched = {d: into[e] for d, e in pairs if e in into}
    return common([Padded(indices.value, s) for s in (indices.sizes, updated, matched)])


def _windows(attrs: a.Scatter, rank: int) -> Iterator[tuple[int, int | None]]:
    """The operand's dimensions, and where updates have them; None where windows are 1 wide."""
    window_dims = iter(attrs.update_window_dims)
    for d in range(rank):
        if d not in attrs.input_batching_dims:
            yield d, None if d in attrs.inserted_window_dims else next(window_dims)


def _fitting(starts: Instruction, attrs: a.Scatter, d: int, room: Instruction) -> Instruction:
    """Index vectors that point nowhere if a window does not fit into a dimension.

    Parameters
    ----------
    room : how far a window may start in the dimension; negative if none fits.
    """
    dims, axis = starts.shape.dims, attrs.index_vector_dim
    wrong = spread(less(room, 0), dims)
    if d in attrs.scatter_dims_to_operand_dims:
        furthest = to_type(make("maximum", room, 0), starts.shape.element_type)
        too_far = make("compare", starts, spread(furthest, dims), direction="GT")
        if axis < len(dims):
            component = attrs.scatter_dims_to_operand_dims.index(d)
            too_far = make("and", too_far, equal(counting(S32, dims, axis), component))
        wrong = make("or", wrong, too_far)
    return make("select", wrong, spread(_nowhere(starts), dims), starts)


def _nowhere(starts: Instruction) -> Instruction:
    return number(-1, starts.shape.element_type)


def _neutral(
    instr: Instruction, updates: tuple[Padded, ...], sizes: Sizes, dims: list[int]
) -> list[Instruction]:
    """Updates that leave the operand alone where they do not count."""
    update = updates[0].value
    kind = update.shape.element_type
    known = identity_of(instr.called[0], kind) if len(updates) == 1 else None
    fill = identity(instr, known, kind)
    return [Padded(update, sizes).masked(fill, dims)]
