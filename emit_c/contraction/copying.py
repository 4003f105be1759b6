"""Copies that keep every element's bits: a call for each row instead of a loop over it.

A compiler takes 5 ms for a loop that it turns into vectors, and nothing for a call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codegen.callees import BUILTINS, FUNCTIONS
from codegen.expressions import Cast, Expr, Group, Literal, Load, Name, indexed, item
from codegen.kinds import Pointer
from codegen.opcodes.folding import over
from codegen.statements import Assign, Let
from codegen.walk import address_of
from emit_c.contraction.transposing import LANES
from hlo.types.element_type import ELEMENT_TYPES
from optimizer.analysis.indexing import Sum, counter, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.body import Body
    from codegen.elements.trace import AccessTrace
    from codegen.statements import Statement
    from hlo.types.element_type import ElementType


@dataclass(frozen=True, slots=True)
class CopiedRow:
    """Elements that are read one after the other.

    Attributes
    ----------
    pointer, first : the array, and the number of the first of them.
    step : from one to the next.
    """

    pointer: Expr
    first: Sum
    step: int

    def copy(self, body: Body, to: Expr, first: Sum, count: Expr, size: int) -> None:
        """Copy so many neighbours of `size` bytes each, from an element on."""
        known = _number(count)
        length = count * size if known is None else known * size
        work = 2 * (known or 0)
        body.call(BUILTINS["memcpy"], to, address_of(self.pointer, first), length, work=work)


def _number(count: Expr) -> int | None:
    """Their number, if it is known."""
    return int(count.value) if isinstance(count, Literal) else None


@dataclass(frozen=True, slots=True)
class Column:
    """Elements of a matrix whose columns are read along.

    Attributes
    ----------
    apart : elements from a column to the next one.
    loops : of those that count what lies side by side, so many lead through a column as one.
    """

    pointer: Expr
    apart: int
    bits: int
    loops: int

    def transpose(self, body: Body, to: Expr, first: Sum, sizes: tuple[int, Expr, int]) -> None:
        """Write columns, from an element on, as rows.

        Parameters
        ----------
        sizes : elements of a column, how many columns there are, and elements from row to row.
        """
        rows, columns, row = sizes
        kind = f"u{self.bits}"
        known = _number(columns)
        body.call(
            FUNCTIONS["hlo_transpose", ELEMENT_TYPES[kind]],
            Cast(Pointer(kind), Group(to)),
            Cast(Pointer(kind, const=True), Group(address_of(self.pointer, first))),
            *(rows, columns, row, self.apart),
            work=2 * rows * (row if known is None else known),
        )


def write_row(
    body: Body,
    kind: ElementType,
    lane: tuple[str, int],
    to: tuple[Expr, Sum],
    value: Callable[[], Expr],
) -> None:
    """Write neighbouring elements of a type, by a call if they are only copied.

    Parameters
    ----------
    lane : what counts them, and how many there are.
    to : the array, and the number of the element there.
    value : gives the element that `lane` counts.
    """
    (pointer, at), (name, size) = to, lane
    with body.block() as statements, body.watched() as trace:
        body.assign(item(pointer, at), value())
    row, first = row_of(statements, trace, kind, name), at + counter(name, size) * -1
    if row and row.step == 1 and not _depends(first, name):
        row.copy(body, address_of(pointer, first), row.first, Literal(size), kind.bytes)
    else:
        body.add(over(name, size, statements))


def write_columns(
    body: Body,
    kind: ElementType,
    sizes: Sequence[int],
    to: tuple[Expr, int],
    element: Callable[[Sequence[Sum]], tuple[Sum, Callable[[], Expr]]],
) -> bool:
    """Write elements that are neighbours in another direction than where they are read.

    Parameters
    ----------
    sizes : of all loops; of the last two, the first one counts what is read side by side, the
        second one what is written so.
    to : the array, and elements there between what is read side by side.
    element : gives an element's number and value from the counters.

    Returns
    -------
    bool
        whether there is a call that does it; otherwise, nothing is written.
    """
    (pointer, row), (rows, columns) = to, sizes[-2:]
    down, across = unknown(body.name("i"), 0, rows - 1), unknown(body.name("j"), 0, columns - 1)
    zeros = [Sum(0)] * (len(sizes) - 2)
    with body.block() as statements, body.watched() as trace:
        number, value = element((*zeros, down, across))
        body.assign(item(pointer, number), value())
    column = column_of(statements, trace, kind, across, [(down, rows)])
    if column is None:
        return False
    with body.loops("i" * len(zeros), sizes[:-2], parallel=True) as outer:
        number, value = element((*outer, Sum(0), Sum(0)))
        with body.block(), body.watched() as first:
            value()
        there = address_of(pointer, number)
        column.transpose(body, there, first.loads[0], (rows, Literal(columns), row))
    return True


def row_of(
    statements: Sequence[Statement], trace: AccessTrace, kind: ElementType, lane: str
) -> CopiedRow | None:
    """The source of a loop that only copies elements of a type; None of any other.

    Parameters
    ----------
    trace : of the statements.
    lane : what counts in the loop.
    """
    if len(trace.loads) != 1 or not isinstance(statements[-1], Assign):
        return None
    number, value = trace.loads[0], statements[-1].value
    lets = [s for s in statements[:-1] if not (isinstance(s, Let) and s.name == lane)]
    load = lets[0] if len(lets) == 1 else None
    if not isinstance(load, Let) or (Name(load.name), load.kind) != (value, str(kind)):
        return None
    if not isinstance(load.value, Load) or load.value.index != indexed(number):
        return None
    terms = tuple((atom, step) for atom, step in number.terms if atom.text != lane)
    first = Sum(number.constant, terms)
    if _depends(first, lane):
        return None
    step = next((step for atom, step in number.terms if atom.text == lane), 0)
    return CopiedRow(load.value.pointer, first, step)


def _depends(number: Sum, name: str) -> bool:
    return name in number.names


def column_of(
    statements: Sequence[Statement],
    trace: AccessTrace,
    kind: ElementType,
    lane: Sum,
    steps: Sequence[tuple[Sum, int]],
) -> Column | None:
    """The source of statements that only copy, with neighbours side by side.

    Parameters
    ----------
    lane : what the columns are counted by.
    steps : what counts inside of a column, outermost first, and how many there are of each.
    """
    if not lane.terms or kind.bits not in LANES:
        return None
    across = row_of(statements, trace, kind, lane.text)
    if across is None or across.step <= 1:
        return None
    size, loops = 1, 0
    for step, count in reversed(steps):
        down = row_of(statements, trace, kind, step.text) if count > 1 else None
        if count > 1 and (down is None or down.step != size):
            break
        size, loops = size * count, loops + 1
    return Column(across.pointer, across.step, kind.bits, loops) if size > 1 else None
