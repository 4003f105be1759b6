"""Reduces stack-frame tables to the entries in use, numbered in the order of first use.

A `stack_frame_id` is a row of StackFrames; that row names one of FileLocations and its caller's
row, a location names a file and a function. XLA builds its tables anew as it reads instructions,
so that tables with unused rows come out shorter, and an id is dropped that leads to a row which is
not there.

Source: `xla/hlo/ir/stack_frames.cc`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.attributes.annotations import Metadata
from hlo.instruction import StackFrames
from hlo.opcode import ASYNC_ENDS
from hlo.read.quoting import QUOTED
from hlo.walk import rebuild, rebuild_module

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module

_KEY = "stack_frame_id="
# Where it is outside of strings, which may hold anything; and strings.
_ID = re.compile(rf"{QUOTED}|{_KEY}(\d{{1,9}})", re.ASCII | re.DOTALL)
_REFERENCES = re.compile(r"(\w+_id)=(-?\d{1,9})\b", re.ASCII)


class FrameTables:
    """New tables, into which rows of those of the text are taken as they are needed.

    Parameters
    ----------
    old : the tables of the text.
    """

    def __init__(self, old: StackFrames) -> None:
        self.old = old
        self.files: dict[str, int] = {}
        self.functions: dict[str, int] = {}
        self.locations: dict[str, int] = {}
        self.frames: dict[str, int] = {}
        self.ids: dict[int, int] = {}

    def tables(self) -> StackFrames:
        """The tables as far as they have come."""
        return StackFrames(*map(tuple, (self.files, self.functions, self.locations, self.frames)))

    def renumber(self, metadata: str) -> str:
        """The text of some metadata with its frame's new number, or without if it has none."""
        before, key, digits = metadata.rpartition(_KEY)
        after = ""
        if not digits.isdecimal():  # it is not the last key, or is in a string
            match = next((m for m in _ID.finditer(metadata) if m[1]), None) if key else None
            if not match:
                return metadata
            before, digits, after = metadata[: match.start()], match[1], metadata[match.end() :]
        old = int(digits)
        if old not in self.ids:
            self._take(old)
        new = self.ids.setdefault(old, 0)
        if new == old:
            return metadata
        return f"{before}{_KEY}{new}{after}" if new else (before.removesuffix(" ") + after).lstrip()

    def _take(self, number: int) -> None:
        """Take a frame over, its callers first; none that leads to a row that is not there.

        As in XLA, frames that call each other in a circle are none.
        """
        chain: dict[int, dict[str, int]] = {}
        # A caller is written as its row and 1 more, so that 1 means that there is none.
        while number and number not in self.ids:
            row = _row(self.old.stack_frames, number)
            if not row or number in chain:
                self.ids.update(dict.fromkeys((number, *chain), 0))
                return
            chain[number] = _references(row)
            number = chain[number].get("parent_frame_id", 1) - 1
        parent = self.ids[number] if number else 0
        lost = number != 0 and parent == 0
        for at, ids in reversed(chain.items()):
            location = 0 if lost else self._location(ids.get("file_location_id", 0))
            lost = not location
            if not lost:
                row = f"{{file_location_id={location} parent_frame_id={parent + 1}}}"
                parent = _number(self.frames, row)
            self.ids[at] = 0 if lost else parent

    def _location(self, number: int) -> int:
        """A location's new number; 0 if there is no such row, or not its file and function."""
        row = _row(self.old.file_locations, number)
        ids = _references(row)
        file = _row(self.old.file_names, ids.get("file_name_id", 0))
        function = _row(self.old.function_names, ids.get("function_name_id", 0))
        if not (file and function):
            return 0
        new = {
            "file_name_id": _number(self.files, file),
            "function_name_id": _number(self.functions, function),
        }
        text = _REFERENCES.sub(lambda m: f"{m[1]}={new.get(m[1], m[2])}", row)
        return _number(self.locations, text)


def settle_frames(module: Module) -> Module:
    """The module with its stack frames in the order of all instructions, hidden ones included.

    XLA writes an instruction that runs asynchronously as `slice-start` and `slice-done`, and hides
    the computation that they call, which comes before their own. Its root has the metadata of the
    last of them.
    """
    last: dict[str, Instruction] = {}
    started: dict[Instruction, str] = {}
    for instr in module.instructions():
        if instr.opcode == "async-start":
            started[instr] = instr.called[0].name
        elif instr.opcode in ASYNC_ENDS and instr.operands and instr.operands[0] in started:
            started[instr] = started[instr.operands[0]]
        if instr in started and instr.annotations.metadata:
            last[started[instr]] = instr
    if not last or not module.stack_frames.stack_frames:
        return module
    frames = FrameTables(module.stack_frames)

    def settled(instr: Instruction, shown: Instruction) -> Instruction:
        old = shown.annotations.metadata
        new = Metadata(frames.renumber(old.text)) if old else None
        if new == instr.annotations.metadata:
            return instr
        return instr.with_(annotations=replace(instr.annotations, metadata=new))

    def change(computation: Computation) -> Computation:
        root = computation.root
        became = {
            instr: settled(instr, last.get(computation.name, instr) if instr is root else instr)
            for instr in computation.instructions
        }
        changed = {old: new for old, new in became.items() if new is not old}
        return rebuild(computation, changed) if changed else computation

    rebuilt = rebuild_module(module, change, prune=False)
    return replace(rebuilt, stack_frames=frames.tables())


def source_location(module: Module, instr: Instruction) -> str:
    """The user's line of an instruction, as `model.py:42`; "" where the text has none.

    The metadata says so itself, or names a row of the module's tables that does.
    """
    metadata = instr.annotations.metadata
    if metadata is None or metadata.source_file:
        return f"{metadata.source_file}:{metadata.source_line}" if metadata else ""
    frames = module.stack_frames
    frame = _references(_row(frames.stack_frames, metadata.stack_frame_id))
    row = _row(frames.file_locations, frame.get("file_location_id", 0))
    name = _row(frames.file_names, _references(row).get("file_name_id", 0)).strip('"')
    line = re.search(r"\bline=(\d+)", row)
    return f"{name}:{line[1]}" if name and line else ""


def _references(row: str) -> dict[str, int]:
    return {key: int(value) for key, value in _REFERENCES.findall(row)}


def _row(table: tuple[str, ...], number: int) -> str:
    """A row by its number, counted from 1; "" if there is no such row."""
    return table[number - 1] if 0 < number <= len(table) else ""


def _number(table: dict[str, int], row: str) -> int:
    """The number of a row, which is added if it is new."""
    return table.setdefault(row, len(table) + 1)
