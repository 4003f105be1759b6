"""Reductions of columns: rows of them are folded side by side, in vector lanes."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from codegen.expressions import item
from codegen.opcodes.folding import Fold, over
from codegen.statements import For
from emit_c.table import define_whole
from hlo import attributes as a
from hlo.support import machine
from optimizer.analysis.indexing import counter, delinear, linear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Name
    from codegen.statements import Statement
    from hlo.instruction import Instruction

SUMS_OF_A_FOLD = machine.L1_WAY // 4
"""Derived: f32 sums of columns that stay in the first-level cache beside rows that are added."""


def blocks(n: int, most: int = SUMS_OF_A_FOLD) -> list[tuple[int, int, int]]:
    """Cut n columns into blocks of one size, or of one size and a smaller one.

    Parameters
    ----------
    most : columns of a block.

    Returns
    -------
    list of tuple
        how many there are, where the first of them begins, and how wide they are.
    """
    widths = range(min(most, n), min(most, n) // 4, -1)
    width = next((w for w in widths if n % w == 0), most // 2)
    count, rest = divmod(n, width)
    return [(count, 0, width), *([(1, n - rest, rest)] if rest else [])]


def of_columns(statements: Sequence[Statement], folds: Sequence[Fold]) -> tuple[Statement, ...]:
    """Mark the outermost loop over rows of columns as a reduction, which may be cut in blocks."""
    columns = [fold.columns for fold in folds]
    if None in columns:
        return tuple(statements)
    together = tuple(pair for column in columns for pair in column or ())
    return tuple(replace(s, reductions=together) if isinstance(s, For) else s for s in statements)


def write_whole_reduce(body: Body, instr: Instruction, outputs: Sequence[Name]) -> int | None:
    """Fold rows of many columns into rows of variables, where the last dimension is kept.

    Elements are read in the order of memory, and the loop over columns runs in vector lanes.
    """
    attrs = a.Dimensions.of(instr)
    half = len(instr.operands) // 2
    arrays, initials = instr.operands[:half], instr.operands[half:]
    dims = arrays[0].shape.dims
    # The dimensions after all that are folded: their elements lie side by side.
    first = max(attrs.dimensions, default=len(dims)) + 1
    columns = prod(dims[first:])
    if first >= len(dims) or columns < 2:
        return None
    # Few rows need no variables that lie side by side: an element's are written out.
    folded = prod(dims[d] for d in attrs.dimensions)
    if folded <= machine.HALF_VECTOR and columns >= machine.BLOCK_OF_LANES:
        return None
    types = [x.shape.element_type for x in arrays]
    starts = [body.scalar(i) for i in initials]
    outer_dims = [1 if d in attrs.dimensions else dims[d] for d in range(first)]
    reduced = [dims[d] if d in attrs.dimensions else 1 for d in range(first)]
    shape = next(s for _, s in instr.shape.leaves())
    for count, start, width in blocks(columns):
        column = body.name("column")
        names = [*(f"i{d}" for d in range(first)), "block"]
        with body.loops(names, [*outer_dims, count], parallel=True) as counters:
            *outer, block = counters
            here = delinear(block * width + counter(column, width) + start, dims[first:])
            fold = Fold(
                body, instr.called[0], types, starts, instr.name, size=width, counter=column
            )
            with body.block() as rows, body.loops("r" * first, reduced) as inner:
                at = tuple(o + i for o, i in zip(outer, inner, strict=True))
                with body.block() as statements:
                    fold.add([body.element(x, (*at, *here)) for x in arrays])
                body.add(over(column, width, statements))
            body.add(*of_columns(rows, [fold]))
            with body.block() as statements:
                result = (*(o for d, o in enumerate(outer) if d not in attrs.dimensions), *here)
                for output, kind, value in zip(outputs, types, fold.results, strict=True):
                    number = linear(result, shape.dims)
                    body.assign(item(output, number), body.stored(kind, value))
            body.add(over(column, width, statements))
    return 0


define_whole("reduce", write_whole_reduce)
