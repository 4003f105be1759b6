"""Tiles that are read transposed, loaded row by row and transposed by shuffles.

    for i < 16: for j < 16 in lanes: y[64 * i + j] = x[128 * j + i]

becomes

    for j < 16: for i < 16 in lanes: padded[16 * j + i] = x[128 * j + i]
    for k < 16 in lanes: columns[k] = padded[16 * k]; columns[16 + k] = padded[16 * k + 1]; ...
    for i < 16: for j < 16 in lanes: y[64 * i + j] = columns[16 * i + j]

Along the lanes, the elements of such an array lie apart: compilers load one after the other. Where
they lie apart by a power of two, gcc does not even put them together in a vector; and rows that far
apart share the same few places of a cache, so that each is loaded again and again. A vector
of 8 or 16 bits a number takes more such loads than one of 32. Without this, to transpose 128
times 128 `float` takes 3 times as long, 1,024 times 1,024 twice, and of `bfloat16` 5 and 2.3 times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Load, Name, indexed
from codegen.kinds import number_of
from codegen.schedule.fission import reading
from codegen.schedule.interchange import interchange
from codegen.schedule.linear import linear
from codegen.schedule.loop import has_loads
from codegen.schedule.order import innermost, vectorize
from codegen.schedule.stage import loading_tile
from codegen.schedule.trace import attempt
from codegen.statements import For, Let, LocalVariable, changed_in, replaced
from codegen.walk import names_of, substitute
from emit_c.kernels.transposed_rows import transposed
from hlo.support import machine
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import counter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Expr
    from codegen.statements import Statement


def transpose_tiles(body: Body, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops over tiles read no array across its rows."""

    def change(statement: Statement) -> Sequence[Statement] | None:
        tile = _TransposedTile.of(body, statement)
        return None if tile is None else attempt(tile.statements)

    return replaced(statements, change)


class _TransposedTile:
    """Loops over the rows of a tile, and over the columns of a row in lanes.

    Attributes
    ----------
    numbers : names for the counters plus numbers, with their values.
    inside : the names of all that changes in the loops.
    """

    def __init__(self, body: Body, rows: For, columns: For) -> None:
        self.body, self.rows, self.columns = body, rows, columns
        self.numbers: dict[str, Expr] = {}
        self.inside = changed_in([rows])
        own = {rows.name, columns.name}
        for let in (s for s in (*rows.body, *columns.body) if isinstance(s, Let)):
            value = substitute(let.value, self.numbers)
            if self.inside.intersection(names_of(value)) <= own and not has_loads(value):
                self.numbers[let.name] = value

    @classmethod
    def of(cls, body: Body, statement: Statement) -> _TransposedTile | None:
        """The loops that a statement is; None if it is something else."""
        if not isinstance(statement, For) or not _is_side(statement):
            return None
        *others, columns = statement.body
        if not isinstance(columns, For) or not _is_side(columns) or not columns.simd:
            return None
        return cls(body, statement, columns) if all(isinstance(s, Let) for s in others) else None

    def statements(self) -> list[Statement]:
        """The loops, with loops before them that load the arrays which are read transposed."""
        before: list[Statement] = []
        loop = self.rows
        for let in [s for s in self.columns.body if isinstance(s, Let)]:
            if self._is_transposed(let):
                loop = self._loaded(loop, let, before)
        return [*before, loop]

    def _is_transposed(self, let: Let) -> bool:
        """Whether a value is an element that shuffles put into place in less time."""
        known = ELEMENT_TYPES.get(number_of(let.kind))
        match let.value:
            case Load(Name(array), index) if known and not known.is_complex:
                number = substitute(index, self.numbers)
            case _:
                return False
        own = {self.rows.name, self.columns.name}
        if array in self.inside or not self.inside.intersection(names_of(number)) <= own:
            return False
        form = linear(number)
        apart = abs(form.stride(self.columns.name) or 0)
        if has_loads(number) or form.stride(self.rows.name) != 1 or apart < machine.LANES:
            return False
        return apart.bit_count() == 1 or known.bytes < min(machine.GATHERED_BYTES)

    def _loaded(self, loop: For, let: Let, before: list[Statement]) -> For:
        """The loops with an array transposed; statements that transpose it are added to others."""
        assert isinstance(let.value, Load)
        columns, padded = self.body.name("columns"), self.body.name("padded")
        here = Load(Name(padded), _place(self.columns.name, self.rows.name))
        copy, last = loading_tile(loop, here, let.value)
        size = machine.LANES * machine.LANES
        before += [
            LocalVariable(let.kind, padded, size=size),
            innermost(interchange(copy), vectorize),
            LocalVariable(let.kind, columns, size=size),
            transposed(self.body.name("k"), padded, columns, machine.LANES),
        ]
        there = Load(Name(columns), _place(self.rows.name, self.columns.name))
        return innermost(last, lambda inner: reading(inner, {here: there}))


def _place(row: str, column: str) -> Expr:
    """The place in a tile, of which rows follow each other."""
    sides = machine.LANES
    return indexed(counter(row, sides) * sides + counter(column, sides))


def _is_side(loop: For) -> bool:
    return (loop.start, loop.stop, loop.step) == (0, machine.LANES, 1)
