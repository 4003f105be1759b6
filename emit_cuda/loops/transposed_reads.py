"""The arrays that a loop reads transposed: neighbours of the result lie far apart in them.

for i, j: y[i, j] = x[j, i] + z[i, j]       x is read transposed: along j its elements lie apart,
and along i side by side
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from codegen.expressions import Index as IndexOf
from codegen.expressions import Load, Name
from codegen.kinds import number_of
from codegen.schedule.loop import LoopView
from codegen.statements import Let, straight
from emit_cuda.loops.packs import MOST_STATEMENTS
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import Counter, Sum
from optimizer.fusion.policy import TILED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.kernel import Scope
    from codegen.kinds import Kind
    from codegen.statements import For, Statement
    from hlo.instruction import Instruction


@dataclass(frozen=True, slots=True)
class TransposedRead:
    """An array that the loop over a tile reads transposed.

    Attributes
    ----------
    along : by how much the number of the element grows from one column of the result to the next;
        from one row to the next it grows by one.
    rest : all else in that number.
    """

    kind: Kind
    pointer: Name
    along: int
    rest: Sum

    @property
    def bytes(self) -> int:
        """The bytes of an element."""
        return ELEMENT_TYPES[number_of(self.kind)].bytes


def may_transpose(scope: Scope, roots: Sequence[Instruction]) -> bool:
    """Whether something in a kernel has its dimensions in another order than its operand."""
    seen = dict.fromkeys(roots)
    stack = list(seen)
    while stack:
        instr = stack.pop()
        shapes = instr.shape, *(o.shape for o in instr.operands)
        if instr.opcode == "transpose":
            return True
        # Arrays lie in row-major order here, whatever their layouts.
        if instr.opcode == "bitcast" and not all(shape.is_row_major for shape in shapes):
            return True
        new = [o for o in instr.operands if o not in seen and scope.pointers_of(o) is None]
        seen |= dict.fromkeys(new)
        stack += new
    return False


def transposed_sides(loops: Sequence[For]) -> tuple[range, range] | None:
    """The loops over a tile's rows and over its columns; None where nothing is read transposed.

    Either count dimensions of the result that are one dimension in the operand, too.

    Parameters
    ----------
    loops : over all elements of the result, from the outermost on.
    """
    statements, names = loops[-1].body, [loop.name for loop in loops]
    if not straight(statements) or len(statements) > MOST_STATEMENTS:
        return None
    dims = [LoopView(loop).trips or 0 for loop in loops]
    last = len(dims) - 1
    for _, _, number in filter(None, map(_load, statements)):
        factors = _plain(number)
        steps = [factors.get(name, 0) for name in names]
        if steps[last] > 1 and 1 in steps:
            sides = _run(steps, dims, steps.index(1)), _run(steps, dims, last)
            if min(prod(dims[d] for d in side) for side in sides) >= TILED:
                return sides
    return None


def _run(steps: Sequence[int], dims: Sequence[int], last: int) -> range:
    """The dimensions, up to one of them, that follow each other in the operand as they do here."""
    first = last
    while first and steps[first - 1] == steps[first] * dims[first]:
        first -= 1
    return range(first, last + 1)


def _load(statement: Statement) -> tuple[Kind, Name, Sum] | None:
    """The type, the array and the number of an element that is loaded."""
    match statement:
        case Let(kind, _, Load(Name() as pointer, IndexOf(number))):
            return kind, pointer, number
        case _:
            return None


def _plain(number: Sum) -> dict[str, int]:
    """The factors of counters that are in no quotient or remainder of a sum."""
    terms = ((atom.name, factor) for atom, factor in number.terms if isinstance(atom, Counter))
    return {name: factor for name, factor in terms if number.names.count(name) == 1}


def transposed_read(
    statement: Statement, row: str, column: str, lane: str
) -> TransposedRead | None:
    """The array from which a statement loads an element transposed; None for other statements.

    Parameters
    ----------
    row, column, lane : the counters of the result's rows, of vectors of its columns, and of the
        columns of a vector.
    """
    load = _load(statement)
    if load is None:
        return None
    kind, pointer, number = load
    own, factors = {row, column, lane}, _plain(number)
    along = factors.get(lane) or factors.get(column, 0)
    rest = tuple((a, f) for a, f in number.terms if not (isinstance(a, Counter) and a.name in own))
    if factors.get(row) != 1 or along < 2:
        return None
    return TransposedRead(kind, pointer, along, Sum(number.constant, rest))
