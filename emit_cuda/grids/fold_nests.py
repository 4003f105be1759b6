"""The loops of a reduction as one would write them by hand, which its schedules begin with.

for row < 90: total = 0; for r < 70: total = total + x[70 * row + r]; y[row] = total
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from codegen.elements.types import store
from codegen.expressions import item
from codegen.kinds import number_of
from codegen.opcodes.folding import fold_of
from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView
from codegen.statements import For, Let, LocalVariable
from hlo import attributes as a
from optimizer.analysis.indexing import Sum, counter, delinear, linear

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Name
    from codegen.opcodes.folding import Fold
    from codegen.statements import Statement
    from hlo.instruction import Instruction
    from optimizer.analysis.indexing import Index


class FoldNest:
    """Loops around each other, and a loop in the innermost one that folds.

    Attributes
    ----------
    loops : from the outermost on, without the one that folds.
    before, fold, after : the statements of the innermost of them.
    kinds : the types of the variables that are folded into.
    """

    def __init__(self, nest: For) -> None:
        self.nest, self.loops = nest, [nest]
        while isinstance(inner := self.loops[-1].body[0], For) and not inner.reductions:
            self.loops.append(inner)
        body = self.loops[-1].body
        number = next(k for k, s in enumerate(body) if isinstance(s, For))
        fold = body[number]
        assert isinstance(fold, For)
        self.before, self.fold, self.after = body[:number], fold, body[number + 1 :]
        variables = (s for s in self.before if isinstance(s, LocalVariable))
        self.kinds = {s.name: number_of(s.kind) for s in variables}

    @property
    def results(self) -> int:
        """How many results there are."""
        return prod(map(trips, self.loops))

    @property
    def result(self) -> Sum:
        """The number of the result of an iteration of the innermost loop."""
        number = Sum(0)
        for loop in self.loops:
            number = number * trips(loop) + counter(loop.name, trips(loop))
        return number

    def around(self, statements: Iterable[Statement]) -> For:
        """The loops around other statements."""
        *around, inner = self.loops
        nest = inner.with_body(statements)
        for loop in reversed(around):
            nest = loop.with_body([nest])
        return nest

    def with_fold(self, fold: For) -> FoldNest:
        """The loops with another fold."""
        return FoldNest(self.around([*self.before, fold, *self.after]))


def trips(loop: For) -> int:
    """The number of iterations of a loop whose bounds are known."""
    count = LoopView(loop).trips
    assert count is not None
    return count


def fold_nest(
    body: Body,
    reduces: Sequence[Instruction],
    outputs: Sequence[Name],
    last: int | None,
    *,
    side_by_side: bool,
) -> FoldNest:
    """The loops over the results of reduces of the same dimensions, whose folds are one loop.

    Parameters
    ----------
    last : the dimension of columns, which have an inner loop; None where rows are reduced.
    side_by_side : there is none, but the folds of all columns are one loop.

    Raises
    ------
    IllegalError
        if the order of the elements counts.
    """
    dims = reduces[0].operands[0].shape.dims
    reduced = a.Dimensions.of(reduces[0]).dimensions
    kept = [d for d in range(len(dims)) if d not in reduced]
    outer = [dims[d] for d in kept if d != last]
    columns = 1 if last is None else dims[last]
    with body.block() as loops, body.loop("row", prod(outer), parallel=True) as name:
        numbers = delinear(counter(name.name, prod(outer)), outer)
        row = dict(zip([d for d in kept if d != last], numbers, strict=True))

        def index(column: Sum) -> Index:
            return tuple(column if d == last else row[d] for d in kept)

        if last is None or side_by_side:
            _add_folds(body, reduces, outputs, [index(Sum(n)) for n in range(columns)])
        else:
            with body.loop("column", columns, parallel=True) as column:
                _add_folds(body, reduces, outputs, [index(counter(column.name, columns))])
    (nest,) = loops
    assert isinstance(nest, For)
    return FoldNest(nest)


def _add_folds(
    body: Body, reduces: Sequence[Instruction], outputs: Sequence[Name], results: Sequence[Index]
) -> None:
    """Add variables, one loop that folds, and stores, for all results of all reduces."""
    dims = reduces[0].operands[0].shape.dims
    reduced = sorted(a.Dimensions.of(reduces[0]).dimensions)
    kept = [d for d in range(len(dims)) if d not in reduced]
    sizes = [dims[d] for d in reduced]
    with body.block() as declared:
        folds = [[fold_of(body, instr) for instr in reduces] for _ in results]
    every = [fold for row in folds for fold in row]
    is_constant = all(isinstance(s, Let | LocalVariable) for s in declared)
    if not is_constant or not all(map(_is_in_any_order, every)):
        raise IllegalError("the order of the elements counts")
    with body.block() as loops, body.loop("r", prod(sizes)) as r:
        element = delinear(counter(r.name, prod(sizes)), sizes)
        for index, row in zip(results, folds, strict=True):
            at = dict(zip([*kept, *reduced], [*index, *element], strict=True))
            place = tuple(at[d] for d in range(len(dims)))
            for instr, fold in zip(reduces, row, strict=True):
                arrays = instr.operands[: len(instr.operands) // 2]
                fold.add([body.element(x, place) for x in arrays])
    (loop,) = loops
    assert isinstance(loop, For)
    lanes = tuple(lane for fold in every for lane in fold.lanes or ())
    body.add(*declared, replace(loop, reductions=lanes))
    for index, row in zip(results, folds, strict=True):
        number, targets = linear(index, [dims[d] for d in kept]), iter(outputs)
        for fold in row:
            for type_, value in zip(fold.types, fold.results, strict=True):
                body.assign(item(next(targets), number), store(type_, value))


def _is_in_any_order(fold: Fold) -> bool:
    return fold.lanes is not None and len(fold.lanes) == len(fold.names)
