"""Differences between two modules, line by line: removed lines and inserted lines."""

from __future__ import annotations

import sys
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from hlo.write.print import Options, print_instruction
from hlo.write.print_order import computation_order, fused_computations, instruction_order
from optimizer.log import Silent

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Event, Log

# Where an instruction came from, and large constants, are not shown in its line.
SHOWN = Options(print_large_constants=False, print_metadata=False)


@dataclass(frozen=True, slots=True)
class ModuleLine:
    """A line of a module.

    Attributes
    ----------
    computation : in which it is.
    instr : None for a computation's first and last line.
    """

    computation: str
    instr: Instruction | None
    text: str

    @property
    def name(self) -> str:
        """The name of its instruction; "" for a line of the computation itself."""
        return self.instr.name if self.instr else ""


class Printer:
    """Prints modules that share most of their instructions, each of these once."""

    def __init__(self) -> None:
        self._texts: dict[Instruction, str] = {}

    def text(self, instr: Instruction) -> str:
        """The line of an instruction, without ROOT."""
        text = self._texts.get(instr)
        if text is None:
            text = self._texts[instr] = print_instruction(instr, SHOWN)
        return text

    def rows(self, module: Module) -> list[ModuleLine]:
        """The lines of a module, in the order in which XLA prints them."""
        lines: list[ModuleLine] = []
        fused = fused_computations(module)
        for computation in computation_order(module):
            name = computation.name
            entry = "ENTRY " if computation is module.entry else ""
            lines.append(ModuleLine(name, None, f"{entry}%{name} {{"))
            for instr in ordered(module, computation, fused):
                root = "ROOT " if instr is computation.root else ""
                lines.append(ModuleLine(name, instr, f"  {root}{self.text(instr)}"))
            lines.append(ModuleLine(name, None, "}"))
        return lines


def ordered(
    module: Module, computation: Computation, fused: set[Computation]
) -> Sequence[Instruction]:
    """The instructions of a computation, in the order in which they are printed.

    Parameters
    ----------
    fused : the computations of fusions, which have no schedule.
    """
    if module.header.is_scheduled and computation not in fused:
        return computation.instructions
    return instruction_order(computation)


# A run of removed lines, and the run of lines that replaces it: the bounds of each.
Edit = tuple[int, int, int, int]


def edits(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[Edit]:
    """The edits that make one sequence of another, in order.

    Both have each element once, or nearly so; what both have is kept where the order allows it, as
    much as possible: the longest increasing subsequence of the positions (patience sorting).
    """
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    shorter = min(len(before), len(after)) - start
    while end < shorter and before[-1 - end] == after[-1 - end]:
        end += 1
    position = {element: i for i, element in enumerate(after[start : len(after) - end], start)}
    common = [
        (i, position[element])
        for i, element in enumerate(before[start : len(before) - end], start)
        if element in position
    ]
    same = [(start - 1, start - 1), *longest_increasing(common)]
    same.append((len(before) - end, len(after) - end))
    return [(i + 1, k, j + 1, m) for (i, j), (k, m) in pairwise(same) if (k, m) != (i + 1, j + 1)]


def longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most pairs whose second numbers rise; the first ones rise already."""
    ends: list[int] = []  # the least second number that so many pairs can end in
    last: list[int] = []  # and the pair that it belongs to
    previous: list[int] = []
    for number, (_, second) in enumerate(pairs):
        length = bisect_left(ends, second)
        previous.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [second]
        last[length : length + 1] = [number]
    increasing: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        increasing.append(pairs[number])
        number = previous[number]
    return increasing[::-1]


@dataclass(frozen=True, slots=True)
class Marked:
    """A row of a comparison: `-` where it went, `+` where it came, " " where it stays."""

    mark: str
    row: ModuleLine


def compared(before: Sequence[ModuleLine], after: Sequence[ModuleLine]) -> list[Marked]:
    """Two modules as one list of rows, removed lines above those that replace them."""
    old = [(row.computation, row.text) for row in before]
    new = [(row.computation, row.text) for row in after]
    marked: list[Marked] = []
    copied = 0
    for i, k, j, m in edits(old, new):
        marked += [Marked(" ", row) for row in before[copied:i]]
        marked += [Marked("-", row) for row in before[i:k]]
        marked += [Marked("+", row) for row in after[j:m]]
        copied = k
    return marked + [Marked(" ", row) for row in before[copied:]]


class Tell(Silent):
    """Prints every rewrite on standard error.

    Parameters
    ----------
    whole : whether with the instructions before and after.
    """

    def __init__(self, *, whole: bool) -> None:
        self.whole = whole

    def event(self, event: Event, log: Log) -> None:  # noqa: ARG002
        """Print a rewrite."""
        print(event, file=sys.stderr)
        if self.whole:
            print(f"-       {print_instruction(event.old, SHOWN)}", file=sys.stderr)
            for instr in event.new:
                print(f"+       {print_instruction(instr, SHOWN)}", file=sys.stderr)
