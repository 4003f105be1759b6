"""Extents: local arrays have all elements that loops access.

    for i < 8: t[4]; for k < 8: t[k] = x[8 * i + k]

is refused, as an array of 4 elements has no t[7].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Choose, Load, Name, Op
from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView
from codegen.statements import For, LocalVariable, nested, trees
from codegen.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codegen.schedule.accesses import MemoryAccess
    from codegen.statements import Statement


def expect_inside(statements: Sequence[Statement]) -> None:
    """Raise if an index may be outside of a local array.

    Nothing is said of an index that is no sum of multiples of counters whose bounds are known.

    Raises
    ------
    IllegalError
        if it is less than 0, or not less than the array's size, for some values of the counters
        which no guard excludes.
    """
    sizes = {s.name: s.size for s in nested(statements) if isinstance(s, LocalVariable) and s.size}
    chosen = _chosen(statements) if sizes else set[Load]()
    for loop in statements:
        if not isinstance(loop, For) or not sizes:
            continue
        view = LoopView(loop)
        for access in view.accesses:
            if access.name not in sizes or access.index is None:
                continue
            if not access.is_write and Load(Name(access.name), access.index) in chosen:
                continue
            least, most = _least_and_most(view, access) or (0, 0)
            if least < 0 or most >= sizes[access.name]:
                raise IllegalError(f"{access} may be outside of {sizes[access.name]} elements")


def _chosen(statements: Iterable[Statement]) -> set[Load]:
    """The loads that a choice may leave out."""
    every = (each for s in nested(statements) for tree in trees(s) for each in walk(tree))
    sides = (side for c in every if isinstance(c, Choose) for side in (c.then, c.otherwise))
    return {load for side in sides for load in walk(side) if isinstance(load, Load)}


def _least_and_most(loop: LoopView, access: MemoryAccess) -> tuple[int, int] | None:
    """The least index and the greatest; None where some bounds are not known."""
    assert access.index is not None
    form = loop.form(access.index)
    least = most = form.constant
    bounds = {**access.inner, loop.name: loop.bounds}
    for name, factor in form.terms.items():
        numbers = bounds.get(name) if isinstance(name, str) else None
        if not numbers:
            return None
        ends = factor * numbers[0], factor * numbers[-1]
        least, most = least + min(ends), most + max(ends)
    for guard in access.guards:
        match guard:
            case Op("<", (less, more)):
                rest = form.plus(loop.form(less), -1).plus(loop.form(more))
                most = most if rest.terms else min(most, rest.constant - 1)
            case _:
                pass
    return least, most
