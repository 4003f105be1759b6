"""Loop nests over an array's elements, shaped by how these are computed.

An element's statements are written once on trial, to see which elements they read and what
they ask of the index. Then

- neighbouring dimensions through which all memory is read as through one become one loop;
- a dimension whose counter is divided by a constant becomes two loops, so that nothing is divided;
- loops are cut where a condition changes, so that padding, and each part of a concatenation, gets
  loops of its own, without conditions inside, which are divided in turn;
- where elements that lie side by side in the output are far apart in memory, as in a transpose, two
  loops run in tiles, whose elements stay in the cache;
- what is the same for all iterations of a loop is computed before it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from codegen.expressions import Name
from codegen.loops.traversal_axes import (
    Axis,
    AxisTiles,
    TraversalNest,
    atoms,
    divided_counters,
    open_counters,
)
from codegen.statements import For, Let, LocalVariable, Statement
from codegen.walk import names_of
from hlo.support import machine
from optimizer.analysis.indexing import Quotient, Remainder, Sum, delinear, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from codegen.elements.body import Body
    from codegen.elements.trace import AccessTrace
    from codegen.loops.traversal_axes import Range
    from optimizer.analysis.indexing import Index

MOST_PIECES, MOST_PARTS_CUT, MOST_STATEMENTS = 64, 1024, 2000
"""Guards against long compilations: pieces into which the loops of a kernel are cut where
conditions change, pieces along one dimension that are looked at one by one, and statements of all
of them."""


def write_nest(
    body: Body,
    dims: Sequence[int],
    write: Callable[[Index], None],
    traced: Callable[[Index], AccessTrace],
) -> None:
    """Write statements for every index of an array of some sizes, all at least 1."""
    axes = tuple(Axis(body.name(f"i{d}"), d, n) for d, n in enumerate(dims))
    nest = TraversalNest(body, axes, write, traced)
    trace = nest.trace()
    joined = _joined(nest, trace)
    if joined is not nest:
        nest, trace = joined, joined.trace()
    parts = tuple(
        part for axis in nest.axes for part in _divided(nest, axis, (0, axis.size), trace)
    )
    if parts != nest.axes:
        nest = replace(nest, axes=parts)
        trace = nest.trace()
    nest = replace(nest, tiled=_tiles(nest, trace), cut=_worth_cutting(nest, nest.ranges, trace))
    _write_axes(nest, nest.ranges, trace, 0)


# -------------------------------------------------------------------------- joining


def _joined(nest: TraversalNest, trace: AccessTrace) -> TraversalNest:
    """A nest of fewer loops, where dimensions of more than one element can share one."""
    groups = _together(nest, trace)
    if len(groups) == len(nest.axes):
        return nest
    sizes = [[axis.size for axis in group] for group in groups]

    def apart(index: Index) -> Index:
        """The index of an element in all dimensions."""
        pieces = [Sum(0)] * len(nest.axes)
        for number, group, size in zip(index, groups, sizes, strict=True):
            for axis, part in zip(group, delinear(number, size), strict=True):
                pieces[axis.dimension] = part
        return tuple(pieces)

    pairs = enumerate(zip(groups, sizes, strict=True))
    return TraversalNest(
        nest.body,
        tuple(Axis(group[0].name, k, prod(size)) for k, (group, size) in pairs),
        lambda index: nest.write(apart(index)),
        lambda index: nest.traced(apart(index)),
    )


def _together(nest: TraversalNest, trace: AccessTrace) -> list[list[Axis]]:
    """The axes of more than one element, by which of them can share a loop.

    Two can if every index that is read moves along the outer one by as much as along all of the
    inner one, and nothing else depends on them. Results are written row by row, so they can.
    """
    apart = divided_counters(trace)
    apart |= {a.text for c in trace.conditions for a, _ in c.value.terms}
    moves = [{a.text: factor for a, factor in load.terms} for load in trace.loads]
    groups: list[list[Axis]] = []
    for inner in (axis for axis in nest.axes if axis.size > 1):
        outer = groups[-1][-1] if groups else inner
        even = all(m.get(outer.name, 0) == m.get(inner.name, 0) * inner.size for m in moves)
        if groups and even and apart.isdisjoint((outer.name, inner.name)):
            groups[-1].append(inner)
        else:
            groups.append([inner])
    return groups


# ------------------------------------------------------------------------- division


def _divided(nest: TraversalNest, axis: Axis, limits: Range, trace: AccessTrace) -> list[Axis]:
    """Part of an axis, cut in two where its counter is divided by a divisor of its size."""
    low, high = limits
    steps = {1, high - low}
    for atom in atoms(trace):
        if isinstance(atom, Quotient | Remainder):
            before = atom.dividend + unknown(axis.name, low, high - 1) * -1
            if not before.terms and not (before.constant + low) % atom.divisor:
                steps.add(atom.divisor)
    sizes = sorted(steps)
    if any(b % a for a, b in pairwise(sizes)):
        return [axis]
    start = axis.start + low * axis.stride
    pieces: list[Axis] = []
    for inside, size in reversed(list(pairwise(sizes)) or [(1, 1)]):
        name = nest.body.name(axis.name) if pieces else axis.name
        stride = axis.stride * inside
        pieces.append(Axis(name, axis.dimension, size // inside, stride, 0 if pieces else start))
    return pieces


def _divided_piece(
    nest: TraversalNest, ranges: Sequence[Range], k: int, trace: AccessTrace
) -> tuple[TraversalNest, tuple[Range, ...], AccessTrace] | None:
    """The nest for a piece along one axis, if that becomes several; and its ranges and trace."""
    parts = _divided(nest, nest.axes[k], ranges[k], trace)
    if nest.tiled or len(parts) < 2:
        return None
    axes = (*nest.axes[:k], *parts, *nest.axes[k + 1 :])
    within = (*ranges[:k], *((0, part.size) for part in parts), *ranges[k + 1 :])
    divided = replace(nest, axes=axes, cut=frozenset())
    known = divided.trace_within(within)
    return replace(divided, cut=_worth_cutting(divided, within, known)), within, known


# ---------------------------------------------------------------------------- tiles


def _tiles(nest: TraversalNest, trace: AccessTrace) -> dict[int, AxisTiles]:
    """The two axes that run in tiles, and the tile size; none where rows are read in order."""
    last = len(nest.axes) - 1
    if last < 1 or not trace.straight:
        return {}
    numbers = {axis.name: k for k, axis in enumerate(nest.axes)}
    for load in trace.loads:
        factors = {numbers[a.text]: f for a, f in load.terms if a.text in numbers}
        beside = next((k for k, f in factors.items() if f == 1), last)
        if beside == last and (pair := _tiles_of_short_rows(nest, factors)):
            return pair
        if beside == last or abs(factors.get(last, 0)) <= 1:
            continue
        if beside == last - 1 and nest.axes[last].size in machine.SHORT_LOOPS:
            return {}  # written out, it leaves one loop, which reads what lies side by side
        sizes = {k: min(nest.axes[k].size, machine.LANES) for k in (beside, last)}
        for k, other in ((beside, last), (last, beside)):
            if sizes[other] < machine.LANES:
                # A tile of few columns or rows has as many elements as a square one.
                sizes[k] = min(nest.axes[k].size, machine.LANES * machine.LANES)
        if min(sizes.values()) == 1:
            return {}
        return {k: AxisTiles(n, *_counters(nest, k)) for k, n in sizes.items()}
    return {}


def _tiles_of_short_rows(nest: TraversalNest, factors: Mapping[int, int]) -> dict[int, AxisTiles]:
    """The tiles for short rows that are moved whole: of the two axes along which the rows lie."""
    last = len(nest.axes) - 1
    width = nest.axes[last].size
    beside = next((k for k, f in factors.items() if f == width and k < last - 1), None)
    if beside is None or width not in machine.SHORT_LOOPS or factors.get(last - 1, 0) <= width:
        return {}
    if min(nest.axes[k].size for k in (beside, last - 1)) < machine.LANES:
        return {}
    return {k: AxisTiles(machine.LANES, *_counters(nest, k)) for k in (beside, last - 1)}


def _counters(nest: TraversalNest, k: int) -> tuple[str, str]:
    """Names for the counters of an axis that runs in tiles."""
    axis = nest.axes[k].name
    return nest.body.name(f"{axis}_tile"), nest.body.name(f"{axis}_inside")


# --------------------------------------------------------------------------- pieces


def _worth_cutting(
    nest: TraversalNest, ranges: Sequence[Range], trace: AccessTrace
) -> frozenset[int]:
    """The axes to cut: from the innermost on, while the text stays short."""
    dimensions: set[int] = set()
    pieces, most = 1, min(MOST_PIECES, MOST_STATEMENTS // max(trace.statements, 1))
    for k in reversed(range(len(nest.axes))):
        cuts = _cuts(nest.axes[k], ranges[k], trace)
        alone, pieces = pieces == 1, pieces * (1 + len(cuts))
        if pieces > most and not (alone and _are_parts(nest, ranges, trace, k, cuts)):
            pieces = _pieces(nest, ranges, trace, {*dimensions, k}, most)
            if pieces > most:
                break
        dimensions.add(k)
    return frozenset(dimensions)


def _pieces(
    nest: TraversalNest,
    ranges: Sequence[Range],
    trace: AccessTrace,
    cut: Collection[int],
    most: int,
) -> int:
    """The number of pieces along some axes, up to one more than `most`.

    The count is less than the product of the cuts of all axes where a piece along an outer axis
    decides every condition, as a piece in the padding does.
    """
    if not cut:
        return 1
    k, *later = sorted(cut)
    total = 0
    cuts = _cuts(nest.axes[k], ranges[k], trace)
    for piece in _ranges(ranges[k], cuts, None):
        narrowed = _with_range(ranges, k, piece)
        known = nest.trace_within(narrowed) if cuts else trace
        total += _pieces(nest, narrowed, known, later, most - total)
        if total > most:
            break
    return total


def _are_parts(
    nest: TraversalNest, ranges: Sequence[Range], trace: AccessTrace, k: int, cuts: Sequence[int]
) -> bool:
    """Whether pieces along one axis have about the statements of the whole, each its own of them.

    So have the parts of a concatenation, whose choices would else be one inside the other.
    """
    if len(cuts) >= MOST_PARTS_CUT:
        return False
    pieces = _ranges(ranges[k], cuts, None)
    total = sum(nest.trace_within(_with_range(ranges, k, p)).statements for p in pieces)
    return total <= max(MOST_STATEMENTS, 2 * trace.statements)


def _write_axes(
    nest: TraversalNest, ranges: tuple[Range, ...], trace: AccessTrace, depth: int
) -> None:
    """Write the loops from an axis on; in tiles the two axes come last, one around the other."""
    apart = {*nest.tiled, len(nest.axes) - 1} if nest.tiled else set[int]()
    order = [k for k in range(len(nest.axes)) if k not in apart] + list(nest.tiled)
    if depth == len(order):
        _write_inside(nest, ranges)
        return
    k = order[depth]
    cuts = _cuts(nest.axes[k], ranges[k], trace) if k in nest.cut else []
    later = nest.cut.intersection(order[depth + 1 :])
    # The indices that a piece asks for matter only where later axes are cut.
    narrows = cuts and not open_counters(trace).isdisjoint(nest.axes[j].name for j in later)
    divides = cuts and nest.axes[k].name in divided_counters(trace)
    tiles = nest.tiled.get(k)
    for piece in _ranges(ranges[k], cuts, tiles.size if tiles else None):
        narrowed = _with_range(ranges, k, piece)
        known = nest.trace_within(narrowed) if narrows or divides else trace
        if divides and (divided := _divided_piece(nest, narrowed, k, known)):
            _write_axes(*divided, depth)
            continue
        with nest.body.block() as statements:
            _write_axes(nest, narrowed, known, depth + 1)
        nest.body.add(*_loop(nest, k, piece, statements))


def _cuts(axis: Axis, limits: Range, trace: AccessTrace) -> list[int]:
    """The indices along an axis at which an uncertain condition changes."""
    low, high = limits
    points: set[int] = set()
    for condition in trace.conditions:
        terms = condition.value.terms
        if not condition.is_open or len(terms) != 1 or terms[0][0].text != axis.name:
            continue
        factor = terms[0][1]
        for end in (condition.low, condition.high):
            # The first iteration with factor * iteration + constant >= end; for negative factors,
            # with < end.
            beyond = end - condition.value.constant
            iteration = -(-beyond // factor) if factor > 0 else beyond // factor + 1
            points |= {iteration} if low < iteration < high else set()
    return sorted(points)


def _with_range(ranges: Sequence[Range], k: int, limits: Range) -> tuple[Range, ...]:
    """The ranges of a nest's axes, with another one for axis k."""
    return (*ranges[:k], limits, *ranges[k + 1 :])


def _ranges(limits: Range, cuts: Sequence[int], tile: int | None) -> list[Range]:
    """The pieces between cuts; in tiles, the rest after the last whole tile is one."""
    ends = [limits[0], *cuts, limits[1]]
    ranges: list[Range] = []
    for low, high in pairwise(ends):
        whole = low + (high - low) // tile * tile if tile else high
        ranges += [(a, b) for a, b in ((low, whole), (whole, high)) if a < b]
    return ranges


def _loop(
    nest: TraversalNest, k: int, limits: Range, statements: Sequence[Statement]
) -> tuple[Statement, ...]:
    """A loop over an axis, or over its tiles; a single iteration needs no loop."""
    (low, high), axis, tiles = limits, nest.axes[k], nest.tiled.get(k)
    if tiles is not None:
        if high - low <= tiles.size:
            return tuple(statements)
        return (
            For(tiles.name, high, tuple(statements), start=low, step=tiles.size, parallel=True),
        )
    if high - low == 1:
        return tuple(statements)
    return _hoisted(For(axis.name, high, tuple(statements), start=low, parallel=True))


def _write_inside(nest: TraversalNest, ranges: tuple[Range, ...]) -> None:
    """One element's statements, inside the loops of a tile where there is one.

    Where tiles are of short rows, all elements of a row are written out.
    """
    last = len(nest.axes) - 1
    rows = [ranges]
    if nest.tiled and last not in nest.tiled:
        rows = [_with_range(ranges, last, (k, k + 1)) for k in range(*ranges[last])]
    with nest.body.block() as block:
        for row in rows:
            nest.write(nest.index(row))
    statements = tuple(block)
    # The longer side of a tile is the inner loop.
    for k in sorted(nest.tiled, key=lambda k: (nest.tiled[k].size, k), reverse=True):
        (low, high), tiles = ranges[k], nest.tiled[k]
        if high - low == 1:
            continue
        counter = nest.axes[k].name
        loop = For(counter, high, statements, start=low)
        if high - low > tiles.size:
            # Its size is in the loop: compilers do not see it in the difference of two names.
            outer_counter = Let("s64", counter, Name(tiles.name) + Name(tiles.counter))
            loop = For(tiles.counter, tiles.size, (outer_counter, *statements))
        statements = _hoisted(loop)
    nest.body.add(*statements)


# -------------------------------------------------------------------------- hoisting


def _hoisted(loop: For) -> tuple[Statement, ...]:
    """A loop, and before it the statements that are the same in all its iterations."""
    inside, remaining, before = {loop.name}, list[Statement](), list[Statement]()
    for statement in loop.body:
        if isinstance(statement, Let) and inside.isdisjoint(names_of(statement.value)):
            before.append(statement)
            continue
        remaining.append(statement)
        if isinstance(statement, Let | LocalVariable):
            inside.add(statement.name)
    return (*before, loop.with_body(remaining))
