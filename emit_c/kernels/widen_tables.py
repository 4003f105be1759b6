"""Tables of bytes as numbers of 32 bits, where loops in lanes look them up.

    for j < 9000: y[j] = table[x[j]]

becomes, for a table of 256 bytes,

    for k < 256: wide[k] = table[k]
    for j < 9000: y[j] = wide[x[j]]

Processors gather numbers of 32 bits, and none of bytes: a loop that looks up a byte would run one
iteration after the other, with all that it computes besides. Without this, ten moves of a game of
animal shogi take 1.9 times as long.

Loops with choices inside stay, as lanes would look up all that any of them chooses: with gathers,
ten moves of a game of Othello take 1.8 times as long.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeGuard

from codegen.expressions import Expr, Load, Name
from codegen.kinds import element_of
from codegen.loops.work import trip_count
from codegen.statements import (
    Assign,
    For,
    If,
    Let,
    LocalVariable,
    Statement,
    base,
    blocks,
    nested,
    replaced,
    rewritten,
    trees,
)
from codegen.walk import names_of, rebuilt, walk
from emit_c.kernels.widen_bytes import NARROW
from optimizer import machine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from emit_c.kernels.kernel import CKernel


def widen_tables(kernel: CKernel, statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements whose loops in lanes look up no small table of bytes oftener than it is long."""
    sizes = {
        each.name: each.size
        for each in kernel.arguments.values()
        if element_of(each.kind) in NARROW and 0 < each.size <= machine.WIDE_TABLE
    }
    if not sizes:
        return tuple(statements)
    written = {base(s.target) for s in nested(statements) if isinstance(s, Assign)}
    counted = Counter[str]()
    _count(statements, 1, counted)
    often = {
        name: kernel.body.name("wide")
        for name, count in counted.items()
        if name not in written and count >= sizes.get(name, count + 1)
    }
    if not often:
        return tuple(statements)
    copies: list[Statement] = []
    for name, wide in often.items():
        k = kernel.body.name("k")
        copied = Assign(Load(Name(wide), Name(k)), Load(Name(name), Name(k)))
        copies.append(LocalVariable("s32", wide, None, sizes[name]))
        copies.append(For(k, sizes[name], (copied,), simd=True))
    return (*copies, *replaced(statements, lambda s: _with_wide(s, often)))


def _count(statements: Iterable[Statement], times: int, counted: Counter[str]) -> None:
    """Count how often lanes look up each array."""
    for statement in statements:
        each = times * trip_count(statement) if isinstance(statement, For) else times
        if _is_straight(statement):
            for load in _lookups(statement):
                counted[base(load)] += each
        else:
            for block in blocks(statement):
                _count(block, each, counted)


def _is_straight(statement: Statement) -> TypeGuard[For]:
    """Whether it is a loop in lanes that chooses nothing."""
    if not isinstance(statement, For) or not statement.simd:
        return False
    return not any(isinstance(each, If) for each in statement.body)


def _lookups(loop: For) -> Iterator[Load]:
    """The loads in a loop from places that depend on loaded numbers."""
    given: set[str] = set()
    for statement in nested(loop.body):
        loads = [t for each in trees(statement) for t in walk(each) if isinstance(t, Load)]
        yield from (
            each
            for each in loads
            if isinstance(each.pointer, Name)
            if not given.isdisjoint(names_of(each.index))
        )
        names = {name for each in trees(statement) for name in names_of(each)}
        if isinstance(statement, Let) and (loads or not given.isdisjoint(names)):
            given.add(statement.name)


def _with_wide(statement: Statement, often: Mapping[str, str]) -> list[Statement] | None:
    """A loop in lanes that looks up the copies of tables; None for other statements."""
    if not _is_straight(statement):
        return None
    found = set(_lookups(statement))

    def change(tree: Expr) -> Expr:
        made = rebuilt(tree, change)
        if isinstance(made, Load) and tree in found:
            array = base(made)
            return Load(Name(often.get(array, array)), made.index)
        return made

    return [rewritten(statement, change)]
