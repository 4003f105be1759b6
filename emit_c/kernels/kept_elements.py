"""Elements of a row that several loops along it need, kept in an array of the row's own.

    for j < 9: y[9 * i + j] = x[9 * i + j]           s = 0; for j < 9: s += y[9 * i + j]

becomes

    for j < 9: a = x[9 * i + j]; row[j] = a; y[9 * i + j] = a      s = 0; for j < 9: s += row[j]

Elements that lie apart are gathered in lanes of rows, and those of an array for all lanes are not.
Numbers of few bits, which no instruction gathers, are loaded and stored by loops of their own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Expr, Load, Name
from codegen.loops.work import trip_count
from codegen.statements import (
    Assign,
    For,
    If,
    Let,
    LocalVariable,
    Statement,
    base,
    nested,
    rewritten,
    trees,
)
from codegen.walk import names_of, rebuilt, substitute, walk
from emit_c.kernels.widen_bytes import NARROW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from codegen.elements.body import Body
    from codegen.kinds import Kind
    from codegen.schedule.types import KernelTypes

    # Its array, its place in the loop along the row, and the iterations of that.
    Element = tuple[str, Expr, int]


def with_kept_elements(body: Body, loop: For, types: KernelTypes) -> For:
    """A loop over rows that loads an element from memory once, for all loops along the row."""
    return _Elements(body, loop, types).kept_in(loop)


class _Elements:
    """The elements that a loop over rows loads and stores.

    Attributes
    ----------
    first : in which of the loops along the row an element becomes known, and its type.
    kept : arrays for those that a later one loads.
    apart : kept elements of few bits that are loaded, or stored, by loops of their own.
    """

    def __init__(self, body: Body, loop: For, types: KernelTypes) -> None:
        self.types = types
        self.written = {base(s.target) for s in nested([loop]) if isinstance(s, Assign)}
        self.first: dict[Element, tuple[int, Kind]] = {}
        self.kept: dict[Element, LocalVariable] = {}
        self.apart: set[Element] = set()
        for number, along in enumerate(s for s in loop.body if isinstance(s, For)):
            for element in self._loaded(along):
                at, kind = self.first.get(element, (number, ""))
                if at < number:
                    self._keep(body, element, kind)
            declared = {s.name for s in nested(along.body) if isinstance(s, Let | LocalVariable)}
            for statement in along.body:
                if known := self._known(along, statement):
                    element, kind, _ = known
                    self.first.setdefault(element, (number, kind))
                    if kind in NARROW and declared.isdisjoint(names_of(element[1])):
                        self._keep(body, element, kind)
                        self.apart.add(element)

    def _keep(self, body: Body, element: Element, kind: Kind) -> None:
        if element not in self.kept:
            name = body.name(f"{element[0]}_row")
            wide = "s32" if kind in NARROW else kind
            self.kept[element] = LocalVariable(wide, name, size=element[2])

    def _loaded(self, along: For) -> Iterator[Element]:
        for statement in nested(along.body):
            read = [statement.value] if isinstance(statement, Assign) else trees(statement)
            for expr in (inside for tree in read for inside in walk(tree)):
                if (element := self._element(along, expr)) is not None:
                    yield element

    def _element(self, along: For, expr: Expr) -> Element | None:
        """An element of memory that differs from row to row, by whatever counter it is reached."""
        if not isinstance(expr, Load) or not isinstance(expr.pointer, Name):
            return None
        array, names = expr.pointer.name, set(names_of(expr.index))
        if array not in self.types.arguments or along.name not in names or names == {along.name}:
            return None
        return array, substitute(expr.index, {along.name: Name("")}), trip_count(along)

    def _known(self, along: For, statement: Statement) -> tuple[Element, Kind, Expr] | None:
        """The element that a statement loads or stores, with its type and value."""
        match statement:
            case Let(kind, name, value):
                element = self._element(along, value)
                if element is not None and element[0] not in self.written:
                    return element, kind, Name(name)
            case Assign(target, Name() as value):
                element = self._element(along, target)
                if element is not None:
                    return element, self.types.of(element[0]), value
            case _:
                pass
        return None

    def kept_in(self, loop: For) -> For:
        """The loop over rows, with the arrays of kept elements."""
        statements: list[Statement] = [*self.kept.values()]
        number = 0
        for statement in loop.body:
            if isinstance(statement, For):
                statements += self._along(statement, number)
                number += 1
            else:
                statements.append(statement)
        return replace(loop, body=tuple(statements)) if self.kept else loop

    def _along(self, along: For, number: int) -> Iterator[For]:
        """A loop along the row, which fills the arrays of elements that it is the first to know."""

        def loaded(expr: Expr) -> Expr:
            element = self._element(along, expr)
            return self._copy(along, element) if element in self.kept else rebuilt(expr, loaded)

        before, inside, after = list[Statement](), list[Statement](), list[Statement]()
        for statement in along.body:
            element, _, value = self._known(along, statement) or ("", "", None)
            if value is None or element not in self.kept or self.first[element][0] != number:
                inside.append(_reading(statement, loaded))
            elif element not in self.apart:
                inside += [statement, Assign(self._copy(along, element), value)]
            elif isinstance(statement, Let):
                before.append(Assign(self._copy(along, element), statement.value))
                inside.append(replace(statement, value=self._copy(along, element)))
            elif isinstance(statement, Assign):
                inside.append(Assign(self._copy(along, element), value))
                after.append(Assign(statement.target, self._copy(along, element)))
        for part in (before, inside, after):
            if part:
                reductions = along.reductions if part is inside else ()
                yield replace(along, body=tuple(part), reductions=reductions)

    def _copy(self, along: For, element: Element) -> Load:
        """The copy of an element in the row's own array."""
        return Load(Name(self.kept[element].name), Name(along.name))


def _reading(statement: Statement, change: Callable[[Expr], Expr]) -> Statement:
    """A statement that reads other trees, and writes the same places."""
    match statement:
        case Assign(target, value):
            return Assign(target, change(value))
        case If(condition, then, otherwise):
            both = (tuple(_reading(s, change) for s in branch) for branch in (then, otherwise))
            return If(change(condition), *both)
        case _:
            return rewritten(statement, change)
