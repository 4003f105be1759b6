"""The lines of a module after each rewrite of a pass, as edits of a list of rows.

Where a pass is small enough it is run again with fuel for each rewrite, and the modules are
compared: exact. A large one would take long; there, each rewrite is done to the list of rows as
the event tells it (the old line goes, the new ones come, users name the new one, what nobody needs
any more goes), and whatever the pass does besides comes with the last one. Where an event tells of
no change of lines, such as one inside of a computation that several instructions call, the pass is
run again up to there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.effects import has_effect
from hlo_tools.trace.changes import edits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hlo.instruction import Instruction, Module
    from hlo_tools.trace.recording import PassRun
    from hlo_tools.trace.rows import RowTable
    from hlo_tools.trace.stops import Stops
    from optimizer.log import Event

# Rewrites times instructions up to which a pass is run again for each rewrite: some 30 us each.
EXACT = 5_000
# Instructions of the runs up to rewrites whose events tell of no change, in one pass.
MOST_AGAIN = 20_000

# A position, the number of rows that are removed there, and the rows that are inserted.
Splice = tuple[int, int, list[int]]


# Rows of a block, among which a row is looked for.
BLOCK = 256


def splices(before: Sequence[int], after: Sequence[int], start: int = 0) -> list[Splice]:
    """The splices that make one list of rows of another, the last first, so that indices stay true.

    Parameters
    ----------
    start : the index of their first rows in longer lists.
    """
    edits_back = reversed(edits(before, after))
    return [(start + i, k - i, list(after[j:m])) for i, k, j, m in edits_back]


def is_exact(run: PassRun) -> bool:
    """Whether every rewrite of a pass is shown exactly."""
    return len(run.rewrites) * sum(1 for _ in run.before.instructions()) <= EXACT


def steps(stops: Stops, number: int, rows: RowTable) -> Iterator[list[Splice]]:
    """The edits of each change of a pass.

    Parameters
    ----------
    number : of the pass in the recording.
    """
    run, own = stops.recording.passes[number], stops.of_runs[number]
    before = rows.of(run.before)
    if is_exact(run):
        for stop in own:
            after = rows.of(stops.module(stop))
            yield splices(before, after)
            before = after
        return
    replay, left = Replay(run.before, before, rows), MOST_AGAIN
    for stop, event in zip(own, run.rewrites[:-1], strict=False):
        splices_now = replay.rewrite(event)
        if not splices_now and left > 0:
            left -= len(before)
            module = stops.module(stop)
            after = rows.of(module)
            splices_now = splices(replay.rows, after)
            replay = Replay(module, after, rows)
        yield splices_now
    yield splices(replay.rows, rows.of(run.after))


@dataclass(slots=True)
class TouchedRows:
    """Rows from one position to another, and those that were there before the rewrite."""

    start: int
    end: int
    old: list[int]


class Replay:
    """A list of rows to which rewrites are done as their events tell them."""

    def __init__(self, module: Module, rows: Sequence[int], table: RowTable) -> None:
        self.rows, self.table = list(rows), table
        self.instrs = {instr.name: instr for instr in module.instructions()}
        self.roots = {c.root.name for c in module.computations}
        self.users: dict[str, dict[str, None]] = {}
        # Replaced instructions, which events of the same pass still name as operands.
        self.became: dict[str, Instruction] = {}
        for instr in module.instructions():
            self._uses(instr)
        # The rows that the rewrite touched, in order.
        self.touched: list[TouchedRows] = []
        # The list in blocks: which each row is in, and how many rows each has.
        self.block = {row: i // BLOCK for i, row in enumerate(self.rows)}
        self.lengths = [len(self.rows[i : i + BLOCK]) for i in range(0, len(self.rows), BLOCK)]

    def _uses(self, instr: Instruction) -> None:
        for operand in instr.operands:
            self.users.setdefault(operand.name, {})[instr.name] = None

    def _row(self, name: str) -> int:
        return self.table.instruction(self.instrs[name], is_root=name in self.roots)

    def _position_of(self, name: str) -> int:
        """The position of an instruction's row, which is looked for in its block."""
        row = self._row(name)
        block = self.block[row]
        start = sum(self.lengths[:block])
        return self.rows.index(row, start, start + self.lengths[block])

    def _exchange(self, at: int, count: int, *rows: int) -> None:
        """Replace rows by others, and note where."""
        end, grown, touched = at + count, len(rows) - count, self.touched
        first = 0
        while first < len(touched) and touched[first].end < at:
            first += 1
        last = first
        while last < len(touched) and touched[last].start <= end:
            last += 1
        met = touched[first:last]
        low = min(at, met[0].start) if met else at
        high = max(end, met[-1].end) if met else end
        old: list[int] = []
        copied = low
        for touch in met:
            old += self.rows[copied : touch.start] + touch.old
            copied = touch.end
        old += self.rows[copied:high]
        block = self.block[self.rows[at]]
        for row in self.rows[at:end]:
            self.lengths[self.block.pop(row)] -= 1
        self.rows[at:end] = rows
        self.lengths[block] += len(rows)
        self.block.update(dict.fromkeys(rows, block))
        for touch in touched[last:]:
            touch.start += grown
            touch.end += grown
        touched[first:last] = [TouchedRows(low, high + grown, old)]

    def rewrite(self, event: Event) -> list[Splice]:
        """Do one rewrite; gives the edits."""
        self.touched = []
        old = event.old.name
        if old in self.instrs:
            self._do(event)
        splices_now: list[Splice] = []
        grown = 0
        for touch in self.touched:
            now = self.rows[touch.start : touch.end]
            splices_now[:0] = splices(touch.old, now, touch.start - grown)
            grown += len(now) - len(touch.old)
        return splices_now

    def _do(self, event: Event) -> None:
        old = event.old.name
        if not event.new:
            self._go(old)
            return
        at, new = self._position_of(old), event.new[-1]
        for instr in event.new:
            at = self._come(instr, at)
        if new.name != old:
            self._replace(old, new)

    def _come(self, instr: Instruction, at: int) -> int:
        """Insert an instruction before a position, or replace it; gives the position after it."""
        known = instr.name in self.instrs
        if known and self.instrs[instr.name] is instr:
            return at
        if known:
            at = self._position_of(instr.name)
        instr = self._as_it_is(instr)
        self.instrs[instr.name] = instr
        self._uses(instr)
        self._exchange(at, int(known), self._row(instr.name))
        return at + (not known)

    def _as_it_is(self, instr: Instruction) -> Instruction:
        """An instruction with operands that rewrites before this one have put in place."""
        operands = tuple(self.became.get(o.name, o) for o in instr.operands)
        return instr if operands == instr.operands else instr.with_(operands=operands)

    def _replace(self, old: str, new: Instruction) -> None:
        new = self.became[old] = self.became.get(new.name, self.instrs.get(new.name, new))
        for user in list(self.users.pop(old, {})):
            if user not in self.instrs or user == new.name:
                continue
            instr, at = self.instrs[user], self._position_of(user)
            operands = tuple(new if o.name == old else o for o in instr.operands)
            self.instrs[user] = instr.with_(operands=operands)
            self._exchange(at, 1, self._row(user))
            self.users.setdefault(new.name, {})[user] = None
        if old in self.roots and new.name in self.instrs:
            gone, at = self._position_of(old), self._position_of(new.name)
            self.roots.remove(old)
            self.roots.add(new.name)
            self._exchange(at, 1, self._row(new.name))
            self._exchange(gone, 1)
            for operand in self.instrs.pop(old).operands:
                self.users.get(operand.name, {}).pop(old, None)
                self._go(operand.name)
        else:
            self._go(old)

    def _go(self, name: str) -> None:
        """Remove an instruction, and those that only it needed."""
        pending = [name]
        while pending:
            gone = pending.pop()
            if gone not in self.instrs or gone in self.roots or self.users.get(gone):
                continue
            instr = self.instrs[gone]
            if instr.opcode == "parameter" or has_effect(instr) or instr.control_predecessors:
                continue
            self._exchange(self._position_of(gone), 1)
            for operand in self.instrs.pop(gone).operands:
                self.users.get(operand.name, {}).pop(gone, None)
                pending.append(operand.name)
