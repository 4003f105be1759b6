"""Loops over rows of several folds, strip-mined, and interchanged with the short loops inside.

    for i: m = least; for j < 9: m = max(m, x[9 * i + j]);  s = 0; for j < 9: s += x[9 * i + j] - m

becomes

    for every block of 16: rows[k] = 9 * k for every k
      for k: m[k] = least
      for j < 9: for k: m[k] = max(m[k], x[9 * block + rows[k] + j])
      for k: s[k] = 0
      for j < 9: for k: s[k] += x[9 * block + rows[k] + j] - m[k]

A fold along a short row ends with a fold of its lanes, which the next fold waits for, and which
takes longer than the row. Of rows side by side there is none. A number of each row becomes an array
of as many elements as there are lanes (scalar expansion); values that do not depend on `j` are
computed before the loop. Shorter bodies are written out (`gather_short_rows`), and store nothing.
Without this, orthonormal bases take 3.1 times as long, Gibbs sampling 2.5 times.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain, groupby
from typing import TYPE_CHECKING

from codegen.expressions import Expr, Load, Name, Op
from codegen.kinds import number_of
from codegen.loops.work import trip_count
from codegen.schedule.divide import divide
from codegen.statements import (
    Assign,
    For,
    If,
    Let,
    LocalVariable,
    Statement,
    base,
    blocks,
    names_in,
    nested,
    renamed,
    replaced,
    rewritten,
    trees,
)
from codegen.walk import names_of, rebuilt, substitute, walk
from emit_c.kernels.gather_short_rows import (
    can_be_gathered,
    distances_gathered,
    does_much,
    is_over_short_rows,
)
from emit_c.kernels.kept_elements import with_kept_elements
from emit_c.kernels.row_starts import RowStarts
from emit_c.kernels.transposed_rows import TransposedRows
from emit_c.kernels.widen_bytes import NARROW
from hlo.support import machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codegen.elements.body import Body
    from codegen.kinds import Kind
    from codegen.schedule.types import KernelTypes

FOLDS_IN_TURN = 6
"""Measured: folds of a row of half a vector that take longer, one after the other, than those of
rows side by side: with 6 of them 1.1 to 1.4 times as long, and orthonormal bases of matrices of 8
rows 2.1 times. Rows of a whole vector take no longer."""

_TRUTHS = {"<", "<=", ">", ">=", "==", "!=", "!", "&&", "||", "&", "|", "^"}


def interchange_short_rows(
    body: Body, statements: Sequence[Statement], types: KernelTypes
) -> tuple[Statement, ...]:
    """Statements whose loops over many short rows, folded again and again, run in lanes of rows."""

    def interchanged(statement: Statement) -> Sequence[Statement] | None:
        if not isinstance(statement, For) or not is_over_short_rows(statement):
            return None
        if not _is_worth_it(statement) or not _can_be_taken(statement):
            return None
        hoisted, row = _hoisted(statement), statement.name
        apart = distances_gathered(statement)

        def in_block(lanes: For, block: Expr | int) -> Sequence[Statement]:
            transposed = TransposedRows(body, row, hoisted.body, apart, lanes.name, block)
            staged = with_kept_elements(body, hoisted.with_body(transposed.statements), types)
            return _BlockOfRows(body, staged, types, transposed).statements()

        return divide(body, statement, machine.LANES, in_block, rest=lambda left: [left])

    return replaced(statements, interchanged)


def _is_worth_it(loop: For) -> bool:
    """Whether rows lie apart and do much, and those of whole vectors wait for fold after fold."""
    inner = [s for s in loop.body if isinstance(s, For)]
    counts = set(map(trip_count, inner))
    if min(counts) <= max(machine.SHORT_LOOPS):
        return False
    folds = sum(len(s.reductions) for s in inner)
    often = folds >= FOLDS_IN_TURN and max(counts) <= machine.HALF_VECTOR
    if counts.issubset(machine.TAKEN_WHOLE) and not often:
        return False
    return does_much(loop) and bool(distances_gathered(loop))


def _can_be_taken(loop: For) -> bool:
    """Whether a row declares only numbers, and arrays that are reached by elements."""
    own = [s for s in loop.body if isinstance(s, Let | LocalVariable)]
    arrays = {s.name for s in own if isinstance(s, LocalVariable) and s.size is not None}
    if any(s.name in arrays and s.value is not None for s in own):
        return False
    used = sum(name in arrays for name in names_in([loop]))
    every = (expr for s in nested([loop]) for tree in trees(s) for expr in walk(tree))
    pointers = [e.pointer for e in every if isinstance(e, Load)]
    reached = sum(isinstance(p, Name) and p.name in arrays for p in pointers)
    return used == reached and all(number_of(s.kind) for s in own)


def _hoisted(loop: For) -> For:
    """A loop over rows with values that are the same along a row before the loops along it.

    Elements that the kernel reads, but does not write, are what they were before it.
    """
    written = {base(s.target) for s in nested(loop.body) if isinstance(s, Assign)}
    known: dict[tuple[Kind, Expr], Name] = {}
    statements: list[Statement] = []
    for along in loop.body:
        if not isinstance(along, For):
            statements.append(along)
            continue
        declared = (s.name for s in nested(along.body) if isinstance(s, Let | LocalVariable))
        changing = {along.name, *written, *declared}
        values: dict[str, Expr] = {}
        left: list[Statement] = []
        for statement in along.body:
            renamed_one = renamed(statement, values)
            if not isinstance(renamed_one, Let) or not changing.isdisjoint(
                names_of(renamed_one.value)
            ):
                left.append(renamed_one)
                continue
            changing.discard(renamed_one.name)
            same = known.setdefault((renamed_one.kind, renamed_one.value), Name(renamed_one.name))
            if same.name == renamed_one.name:
                statements.append(renamed_one)
            else:
                values[renamed_one.name] = same
        statements.append(along.with_body(left))
    return loop.with_body(statements)


class _BlockOfRows:
    """A loop over short rows on its way to a block of them.

    Attributes
    ----------
    pieces : loops along the row, and the statements between them.
    own : the declarations of these statements.
    shared, arrays : the names of numbers that several pieces need, and of arrays.
    """

    def __init__(
        self, body: Body, loop: For, types: KernelTypes, transposed: TransposedRows
    ) -> None:
        self.types = types
        self.pieces: list[For | Sequence[Statement]] = []
        for _, group in groupby(loop.body, lambda s: isinstance(s, For)):
            statements = list(group)
            self.pieces += [s for s in statements if isinstance(s, For)] or [statements]
        self.own = [s for s in loop.body if isinstance(s, Let | LocalVariable)]
        self.arrays = {s.name: s for s in self.own if isinstance(s, LocalVariable) and s.size}
        used = Counter(name for piece in self.pieces for name in _names(piece))
        numbers = (s.name for s in self.own if s.name not in self.arrays)
        self.shared = {name for name in numbers if used[name] > 1}
        self.starts = RowStarts(body, loop.name, transposed, distances_gathered(loop))

    def statements(self) -> Sequence[Statement]:
        """The statements for a block of rows, a lane each."""
        return self.starts.of_block([*self._declared(), *map(self._in_lanes, self.pieces)])

    def _declared(self) -> Iterator[Statement]:
        """An array for each number, or array, that a row declares."""
        for s in self.own:
            size = self.arrays[s.name].size if s.name in self.arrays else 1
            if size and (s.name in self.shared or s.name in self.arrays):
                yield LocalVariable(_in_array(s.kind), s.name, size=size * machine.LANES)

    def _in_lanes(self, piece: For | Sequence[Statement]) -> Statement:
        inside = piece.body if isinstance(piece, For) else piece
        lanes = self.starts.lanes(
            [lane_statement for s in inside for lane_statement in self._made(s)]
        )
        if not isinstance(piece, For):
            return lanes
        return replace(piece, body=(lanes,), simd=False, reductions=(), parallel=False)

    def _made(self, statement: Statement) -> Iterator[Statement]:
        """A statement for the row in each lane."""
        if isinstance(statement, LocalVariable) and statement.name in self.arrays:
            return
        if isinstance(statement, If):
            both = (tuple(chain.from_iterable(map(self._made, b))) for b in blocks(statement))
            yield If(self._of_lane(statement.condition), *both)
            return
        lane_statement = rewritten(statement, self._of_lane)
        if isinstance(lane_statement, Let) and self._is_wide(lane_statement):
            lane_statement = replace(lane_statement, kind="s32")
        if (
            not isinstance(lane_statement, Let | LocalVariable)
            or lane_statement.name not in self.shared
        ):
            yield lane_statement
        elif lane_statement.value is not None:
            yield Assign(self._of_lane(Name(lane_statement.name)), lane_statement.value)

    def _is_wide(self, let: Let) -> bool:
        """Whether a number of few bits has 32 in lanes: a truth, or an element of such an array."""
        match let.value:
            case Load(Name(name)) if name in self.arrays:
                return let.kind in NARROW and _in_array(self.arrays[name].kind) == "s32"
            case Load(Name(name)):
                return let.kind == "pred" and name in self.shared
            case Op(op):
                return let.kind == "pred" and op in _TRUTHS
            case _:
                return False

    def _of_lane(self, expr: Expr) -> Expr:
        """A tree with elements of arrays for the numbers that a row declares."""
        lane = Name(self.starts.lane)
        return self._placed(substitute(expr, {n: Load(Name(n), lane) for n in self.shared}))

    def _placed(self, expr: Expr) -> Expr:
        match expr:
            case Load(Name(name), index) if name in self.arrays:
                return Load(Name(name), index * machine.LANES + Name(self.starts.lane))
            case Load(Name(name)) if can_be_gathered(self.types.of_argument(name)):
                return self.starts.placed(expr)
            case _:
                return rebuilt(expr, self._placed)


def _in_array(kind: Kind) -> Kind:
    """The type of numbers in arrays of lanes: truths have as many bits as others in a vector."""
    return "s32" if kind == "pred" else kind


def _names(piece: For | Sequence[Statement]) -> set[str]:
    """The names that a piece uses or declares."""
    inside = piece.body if isinstance(piece, For) else piece
    declared = (s.name for s in inside if isinstance(s, Let | LocalVariable))
    return {*names_in(inside), *declared}
