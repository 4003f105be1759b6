"""Stage: elements that a loop loads or stores wait in an array, where its iterations have them.

    for k < 64: y[7 * k] = exp(x[7 * k])

with the load and the store staged is

    for k < 64: loaded[k] = x[7 * k]
    for k < 64: stored[k] = exp(loaded[k])
    for k < 64: y[7 * k] = stored[k]

(Exo: `stage_mem`; TVM: `cache_read`, `cache_write`.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.schedule.fission import expect_computable, fission, reading
from codegen.schedule.guards import closed, is_guard, one_loop_inside, opened
from codegen.schedule.legality import IllegalError, expect_distributable
from codegen.schedule.loop import LoopView, certain_loads, has_loads
from codegen.schedule.trace import applied
from codegen.statements import Assign, For, If, live, nested, trees, values
from codegen.walk import names_of, substitute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codegen.expressions import Expr, Load
    from codegen.statements import Statement


def loading(loop: For, elements: Mapping[Load, Load]) -> list[For]:
    """A loop for each element that copies it for all iterations that load it.

    Guards of the load guard the copy.

    Parameters
    ----------
    elements : those that are loaded, by the elements of arrays that will have them.

    Raises
    ------
    IllegalError
        if an iteration may store, before it loads one, what another one has loaded then.
    """
    flat = loop.with_body(opened(loop.body))
    view = LoopView(flat)
    loops: list[For] = []
    for here, there in elements.items():
        guards = _guards(view, there)
        reason = expect_computable(flat, {here: there}, guards)
        again = [If(_outside(view, guard.condition), ()) for guard in guards]
        copy = Assign(here, replace(there, index=_outside(view, there.index)))
        body = closed([*again, copy])
        loops.append(replace(loop, body=body, reductions=(), parallel=False))
        applied("stage the loads", reason, loop, loops[-1:])
    return loops


def loading_tile(loop: For, here: Load, there: Load) -> tuple[For, For]:
    """Two loops around each other that copy an element for all iterations, and the loop itself.

        for i < 9: for j < 7: y[7 * i + j] = x[9 * j + i]

    becomes, with `x[9 * j + i]` in `tile[7 * i + j]`,

        for i < 9: for j < 7: tile[7 * i + j] = x[9 * j + i]
        for i < 9: for j < 7: y[7 * i + j] = tile[7 * i + j]

    The copy may then be interchanged, and be in lanes, as the array is laid out.

    Parameters
    ----------
    loop : around one loop that loads the element.
    here : an element of an array that the loop does not know.
    there : an element that the loop inside loads.

    Raises
    ------
    IllegalError
        if the loop has more inside than values, guards and one loop after them, or if an iteration
        may store, before it loads one, what another one has loaded then.
    """
    before, inner = one_loop_inside(loop)
    (copy,) = loading(inner, {here: there})
    wanted = (tree for s in nested(copy.body) for tree in trees(s))
    needed = LoopView(loop.with_body([*before, copy])).slice(wanted)
    nest = loop.with_body([*before, copy, reading(inner, {there: here})])
    copies, last = fission(nest, [*needed, copy], needed, {})
    # What it stores is the same as before, and nothing else changes: so a promise still holds.
    return copies, replace(last, parallel=loop.parallel)


def storing(loop: For, elements: Mapping[Load, Load]) -> For:
    """One loop that stores elements for all iterations, in the order in which these do.

    Parameters
    ----------
    elements : those that are stored, by the elements of arrays that have their values.

    Raises
    ------
    IllegalError
        if an iteration may access what a later statement stores, once all stores are last.
    """
    view = LoopView(loop)
    waiting: dict[Expr, Load] = {there: here for here, there in elements.items()}
    early: list[Statement] = []
    late: list[Statement] = []
    statements: list[Statement] = []
    for s in loop.body:
        if isinstance(s, Assign) and (here := waiting.get(s.target)):
            early.append(Assign(here, s.value))
            late.append(Assign(s.target, here))
            statements += [early[-1], late[-1]]
        else:
            early.append(s)
            statements.append(s)
    if len(late) < len(elements):
        raise IllegalError("an element is not stored in each iteration")
    reason = expect_distributable(LoopView(loop.with_body(statements)), early)
    copies = [
        Assign(replace(there, index=_outside(view, there.index)), here)
        for here, there in elements.items()
    ]
    store_loop = replace(loop, body=tuple(copies), simd=False, reductions=(), parallel=False)
    applied("stage the stores", reason, loop, [store_loop])
    return store_loop


def storing_tile(loop: For, here: Load, there: Load) -> tuple[For, For]:
    """Two loops around each other that store elsewhere, and two that copy all elements from there.

        for i < 9: for j < 7: y[9 * j + i] = x[7 * i + j]

    becomes, with what is stored in `y[9 * j + i]` in `tile[7 * i + j]`,

        for i < 9: for j < 7: tile[7 * i + j] = x[7 * i + j]
        for i < 9: for j < 7: y[9 * j + i] = tile[7 * i + j]

    Parameters
    ----------
    loop : around one loop that stores the element.
    here : an element of an array that the loop does not know.
    there : an element that the loop inside stores.

    Raises
    ------
    IllegalError
        as of `loading_tile`; or if an iteration may access what another one stores.
    """
    before, inner = one_loop_inside(loop)
    copy = storing(inner, {here: there})
    first = [*before, reading(inner, {}, {there: here})]
    computing, copies = fission(loop.with_body([*first, copy]), first, before, {})
    return replace(computing, parallel=loop.parallel), copies.with_body(live(copies.body))


def _guards(loop: LoopView, load: Load) -> list[If]:
    """The guards of the first statement that loads an element."""
    guards: list[If] = []
    for s in loop.body:
        if any(load in certain_loads(tree) for tree in values(s)):
            break
        if is_guard(s):
            guards.append(s)
    return guards


def _outside(loop: LoopView, tree: Expr) -> Expr:
    """A tree as a loop computes it that has the counter and no other value of the iteration."""
    tree = loop.at_once(tree)
    same: dict[str, Expr] = {}
    for s in loop.slice([tree]):
        if s.name not in loop.varying and not has_loads(s.value):
            same[s.name] = substitute(s.value, same)
    tree = substitute(tree, same)
    if not loop.declared.isdisjoint(names_of(tree)):
        raise IllegalError("an index is computed in the iteration of more than the counter")
    return tree
