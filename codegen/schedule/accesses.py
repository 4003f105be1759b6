"""The variables and elements that statements read and write, in the order in which they do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from codegen.expressions import Load, Name
from codegen.printer import shown
from codegen.schedule.conditions import parts_of
from codegen.statements import Assign, Call, For, If, Try, base, blocks, trees, values
from codegen.walk import children

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from codegen.expressions import Expr
    from codegen.statements import Statement


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """A read or a write of a variable, or of an element of an array.

    Attributes
    ----------
    index : of the element; None for a variable, and for an array that is handed to a function.
    statement : the number of the statement, of those whose accesses were asked for, that it is in.
    inner : the bounds of the counters of the loops around it in that statement; None where they
        are not known.
    guards : the comparisons in that statement that all hold where it happens.
    """

    name: str
    index: Expr | None
    is_write: bool
    statement: int
    inner: Mapping[str, range | None] = field(default_factory=dict[str, "range | None"])
    guards: tuple[Expr, ...] = ()

    def within(self, loop: For) -> MemoryAccess:
        """The same access, where its statement is in the body of a loop."""
        return replace(self, inner={loop.name: bounds_of(loop), **self.inner})

    def __str__(self) -> str:
        """In words, with the element as in C."""
        text = self.name if self.index is None else shown(Load(Name(self.name), self.index))
        return f"the {'store to' if self.is_write else 'load of'} {text}"


def accesses(statements: Sequence[Statement]) -> list[MemoryAccess]:
    """The accesses of statements, in the order in which they happen."""
    return [
        MemoryAccess(read.name, read.place, read.is_write, number, around.inner, around.guards)
        for number, statement in enumerate(statements)
        for read, around in _inside([statement], _Around({}, ()))
    ]


class _Around(NamedTuple):
    inner: Mapping[str, range | None]
    guards: tuple[Expr, ...]


class _Found(NamedTuple):
    name: str
    place: Expr | None
    is_write: bool


def _inside(statements: Iterable[Statement], around: _Around) -> Iterator[tuple[_Found, _Around]]:
    for s in statements:
        for tree in values(s):
            yield from ((read, around) for read in _reads(tree))
        if isinstance(s, Call | Try):
            # A function may write to every array that it is given.
            reads = (read for tree in trees(s) for read in _reads(tree))
            yield from ((read._replace(place=None, is_write=True), around) for read in reads)
        if isinstance(s, Assign):
            index = s.target.index if isinstance(s.target, Load) else None
            yield _Found(base(s.target), index, is_write=True), around
        if isinstance(s, If):
            guarded = around._replace(guards=(*around.guards, *parts_of(s.condition)))
            yield from _inside(s.then, guarded)
            yield from _inside(s.otherwise, around)
            continue
        deeper = {**around.inner, s.name: bounds_of(s)} if isinstance(s, For) else around.inner
        for block in blocks(s):
            yield from _inside(block, around._replace(inner=deeper))


def bounds_of(loop: For) -> range | None:
    """The values of a counter; None where the loop does not say them, or counts down."""
    if loop.counts_down:
        return None
    if isinstance(loop.start, int) and isinstance(loop.stop, int) and isinstance(loop.step, int):
        return range(loop.start, loop.stop, loop.step)
    return None


def _reads(tree: Expr) -> Iterator[_Found]:
    match tree:
        case Name(name):
            yield _Found(name, None, is_write=False)
        case Load(Name(name), index):
            yield _Found(name, index, is_write=False)
            yield from _reads(index)
        case _:
            for child in children(tree):
                yield from _reads(child)
