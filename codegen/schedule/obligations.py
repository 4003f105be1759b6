"""Obligations: what each transformation of a loop takes for granted, as data that can be proved.

A primitive checks by formulas that it is legal (`legality`). For those who listen (`trace`), it
also states what must hold, of the loops before and after; `hlo opt --stage loops --prove` gives
this to a solver. There are six kinds:

| obligation | of | claim |
| --- | --- | --- |
| `SameIterations` | divide, cut, unroll, interchange, ... | all are done, once, in order |
| `AccessDistance` | all that change an order, or an array | accesses meet at no other distances |
| `SameValue` | unswitch, hoist | a tree has one value in all iterations |
| `AnyOrder` | rfactor, vectorize | numbers may be folded in any order |
| `Staged` | tiles of a GPU, folds of parts | an array has for one loop what another stored for it |
| `Unproved` | fission (second half), ... | a claim that no solver is given |
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codegen.expressions import Expr
    from codegen.schedule.accesses import MemoryAccess
    from codegen.schedule.loop import LoopView
    from codegen.statements import For


class AccessDistance(NamedTuple):
    """Two accesses of a loop meet in iterations that are so far from each other, and in no others.

    Attributes
    ----------
    distances : by how many iterations the other access comes later; None where they never meet.
    is_promised : the author of the loop has said so, of elements that only a run tells, perhaps.
    """

    loop: LoopView
    one: MemoryAccess
    other: MemoryAccess
    distances: range | None
    is_promised: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """Iterations of a loop, or of loops around each other, after a transformation.

    Attributes
    ----------
    loops : of which they are the iterations, from the outermost on; none for a single one.
    at : the value of each counter from before, in an iteration.
    inverse : the values of the counters of `loops`, by which an iteration from before is found.
    condition : holds in the iterations that do something.
    """

    loops: tuple[For, ...]
    at: Mapping[str, Expr]
    inverse: Mapping[str, Expr] = field(default_factory=dict["str", "Expr"])
    condition: Expr | None = None


@dataclass(frozen=True, slots=True)
class SameIterations:
    """The parts have all iterations of some loops, and no others.

    Attributes
    ----------
    before : the loops, from the outermost on.
    how : "in order" for each once, as before; "once" for each once; "again" for some twice.
    """

    before: tuple[For, ...]
    parts: tuple[Part, ...]
    how: Literal["in order", "once", "again"] = "in order"


@dataclass(frozen=True, slots=True)
class SameValue:
    """A tree has the same value in all iterations of a loop.

    Attributes
    ----------
    own : names that have one value in all of them, if the trees before have.
    """

    loop: LoopView
    value: Expr
    own: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AnyOrder:
    """Numbers may be folded by an operation in any order, beginning with a neutral element.

    Attributes
    ----------
    kind : the type of the numbers; empty where it is not known.
    start : the neutral element that is used; None where none is.
    """

    operation: str
    kind: str = ""
    start: Expr | None = None


class StagedElement(NamedTuple):
    """An element of an array through which a loop tells another one something.

    Attributes
    ----------
    place : its index.
    what : numbers that say of what it is, as of a row and a column.
    counters : the values of the names in these.
    """

    place: Expr
    what: tuple[Expr, ...]
    counters: Mapping[str, range]


@dataclass(frozen=True, slots=True)
class Staged:
    """An array has, where a loop loads it, what another loop has stored of the same.

    Attributes
    ----------
    stores : the counters of the loop that stores, in the iteration that stores what the other one
        loads, by that one's counters.
    """

    array: str
    stored: StagedElement
    loaded: StagedElement
    stores: Mapping[str, Expr]


@dataclass(frozen=True, slots=True)
class Unproved:
    """A claim that no solver is given, as only the schedule knows whether it holds.

    Attributes
    ----------
    because : the reason.
    """

    claim: str
    because: str


Obligation = AccessDistance | SameIterations | SameValue | AnyOrder | Staged | Unproved
# The obligations of the primitive that is being applied; None where nobody listens.
OBLIGATIONS: ContextVar[list[Obligation] | None] = ContextVar("obligations", default=None)


def granted(*obligations: Obligation) -> None:
    """Report obligations of the primitive that is being applied, if somebody listens."""
    heard = OBLIGATIONS.get()
    if heard is not None:
        heard += obligations


def is_heard() -> bool:
    """Whether somebody listens, so that obligations are worth the time to state them."""
    return OBLIGATIONS.get() is not None
