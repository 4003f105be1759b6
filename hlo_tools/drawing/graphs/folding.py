"""Folds a computation that is too large for a picture: scopes of the user's program become boxes.

A scope is a prefix of `op_name`. Scopes are opened from the outermost on, as long as the picture
stays readable; of what has no scope, instructions in a row are one box. Boxes are cut where they
would depend on each other in a circle, so that all edges go down.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from hlo.walk import users
from hlo.wording import counted
from hlo_tools.drawing.graphs.layers import layers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hlo.instruction import Computation, Instruction

# Boxes of a folded picture, and boxes below each other: beyond, it is higher than four screens.
READABLE, MOST_LAYERS = 70, 40

Scope = tuple[str, ...]


@dataclass(frozen=True)
class FoldedBox:
    """Instructions that share a box.

    Attributes
    ----------
    title : the scope, or the first and last names; "" for one instruction, which has its own box.
    """

    title: str
    members: tuple[Instruction, ...]

    @property
    def opcodes(self) -> str:
        """The most frequent opcodes."""
        counts = Counter(instr.opcode for instr in self.members).most_common(3)
        return ", ".join(f"{count} {opcode}" if count > 1 else opcode for opcode, count in counts)

    @property
    def size(self) -> str:
        """The number of instructions, for people."""
        return counted(len(self.members), "instruction")


def folds(
    computation: Computation, shown: Sequence[Instruction], most: int = READABLE
) -> list[FoldedBox]:
    """At most so many boxes for instructions, each after those whose values it uses.

    Parameters
    ----------
    shown : instructions of the computation, in its order.
    """
    scopes = scopes_of(computation)
    # What is directly in each scope: scopes, and instructions.
    inside: dict[Scope, dict[Scope | Instruction, None]] = {}
    for instr in shown:
        scope = scopes[instr]
        inside.setdefault(scope, {})[instr] = None
        for length in range(len(scope)):
            inside.setdefault(scope[:length], {})[scope[: length + 1]] = None
    opened: set[Scope] = {()}
    best = _cut(shown, scopes, opened)
    pending: list[Scope] = [()]
    while pending:
        for scope in inside.get(pending.pop(0), ()):
            if not isinstance(scope, tuple) or len(best) + len(inside[scope]) - 1 > most:
                continue
            tried = _cut(shown, scopes, opened | {scope})
            if len(tried) <= most and _depth(tried) <= max(MOST_LAYERS, _depth(best)):
                opened.add(scope)
                pending.append(scope)
                best = tried
    return _in_rows(best, most)


def scopes_of(computation: Computation) -> dict[Instruction, Scope]:
    """The scope of each instruction; what has no name gets the one that its users share."""
    using = users(computation)
    scopes: dict[Instruction, Scope] = {}
    for instr in reversed(computation.instructions):
        metadata = instr.annotations.metadata
        if metadata is not None and metadata.op_name:
            scopes[instr] = tuple(metadata.op_name.split("/")[:-1])
        elif instr.opcode == "parameter":
            scopes[instr] = ()
        else:
            scopes[instr] = shared([scopes[user] for user in using[instr]])
    named = [scope for scope in scopes.values() if scope]
    outer = len(shared(named))
    return {instr: scope[outer:] for instr, scope in scopes.items()}


def shared(scopes: Sequence[Scope]) -> Scope:
    """The longest scope around all of these."""
    levels = zip(*scopes, strict=False)
    return tuple(level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels))


def _cut(
    shown: Sequence[Instruction], scopes: Mapping[Instruction, Scope], opened: set[Scope]
) -> list[FoldedBox]:
    """A box a closed scope, and a box each instruction that is in none.

    Scopes are ranked by their first instruction. A value that goes to a scope of a lower rank
    begins a new phase, in which that scope has another box.
    """
    ranks: dict[object, int] = {}
    rank: dict[Instruction, int] = {}
    titles: dict[int, str] = {}
    for instr in shown:
        scope = scopes[instr]
        closed = next((scope[:n] for n in range(len(scope) + 1) if scope[:n] not in opened), None)
        rank[instr] = ranks.setdefault(instr if closed is None else closed, len(ranks))
        titles[rank[instr]] = "/".join(closed) if closed else ""
    phase: dict[Instruction, int] = {}
    members: dict[tuple[int, int], list[Instruction]] = {}
    for instr in shown:
        before = [o for o in (*instr.operands, *instr.control_predecessors) if o in phase]
        phase[instr] = max((phase[o] + (rank[o] > rank[instr]) for o in before), default=0)
        members.setdefault((phase[instr], rank[instr]), []).append(instr)
    return [
        FoldedBox(titles[key[1]] if len(group) > 1 else "", tuple(group))
        for key, group in sorted(members.items())
    ]


def _depth(boxes: Sequence[FoldedBox]) -> int:
    """How many boxes are below each other."""
    number = {instr: n for n, fold in enumerate(boxes) for instr in fold.members}
    edges = {
        (number[operand], number[instr])
        for instr in number
        for operand in instr.operands
        if operand in number and number[operand] != number[instr]
    }
    return max(layers(len(boxes), sorted(edges)), default=0) + 1


def _in_rows(boxes: list[FoldedBox], most: int) -> list[FoldedBox]:
    """Boxes with runs of instructions joined, and then any runs, where there are too many."""

    def is_single(fold: FoldedBox) -> bool:
        return not fold.title

    for may_join in (is_single, bool):
        size = 2
        joined = boxes
        while len(joined) > most or (len(joined) > 1 and _depth(joined) > MOST_LAYERS):
            if size > len(boxes):
                break
            joined = _joined(boxes, may_join, size)
            size *= 2
        boxes = joined
    return boxes


def _joined(
    boxes: Sequence[FoldedBox], may_join: Callable[[FoldedBox], bool], size: int
) -> list[FoldedBox]:
    """Boxes in which up to so many that follow each other are one."""
    joined: list[FoldedBox] = []
    run: list[FoldedBox] = []

    def end() -> None:
        if len(run) > 1:
            members = tuple(instr for fold in run for instr in fold.members)
            joined.append(FoldedBox(_title(run), members))
        else:
            joined.extend(run)
        run.clear()

    for fold in boxes:
        if not may_join(fold) or len(run) == size:
            end()
        (run if may_join(fold) else joined).append(fold)
    end()
    return joined


def _title(run: Sequence[FoldedBox]) -> str:
    """Several boxes by their first and last."""
    if all(instr.opcode == "parameter" for fold in run for instr in fold.members):
        return "parameters"
    first, last = (fold.title or f"%{fold.members[0].name}" for fold in (run[0], run[-1]))
    return f"{first} … {last}"
