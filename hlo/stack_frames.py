"""Keeps of the stack-frame tables what metadata refers to, numbered in the order of first use.

A `stack_frame_id` is a row of StackFrames; that row names one of FileLocations and its caller's
row, a location names a file and a function. XLA builds its tables anew as it reads instructions,
so that tables with unused rows come out shorter, and an id of a row that is not there is dropped.

Source: `xla/hlo/ir/stack_frames.cc`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from hlo.annotations import Metadata
from hlo.instruction import Instruction, StackFrames

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hlo.annotations import Annotations
    from hlo.instruction import Computation, Module

_ID = re.compile(r"\bstack_frame_id=(\d{1,9})\b", re.ASCII)
_WITH_SPACE = re.compile(r" ?\bstack_frame_id=\d+\b", re.ASCII)
_REFERENCES = re.compile(r"(\w+_id)=(\d{1,9})\b", re.ASCII)


def settle_stack_frames(module: Module, text: str) -> Module:
    """The module with the tables, and the ids, that XLA would give it.

    Parameters
    ----------
    text : the text of the module, in which ids are found much faster than in its instructions.
    """
    found = list(dict.fromkeys(int(match) for match in _ID.findall(text)))
    tables = _Tables(module.stack_frames, found)
    if tables.new == module.stack_frames and all(tables.ids.get(n) == n for n in found):
        return module
    # Strings may hold something that looks like an id: now look closely.
    used = [i.annotations.metadata for i in module.instructions()]
    tables = _Tables(module.stack_frames, [m.stack_frame_id for m in used if m])

    return replace(_renumbered(module, tables.ids), stack_frames=tables.new)


def _renumbered(module: Module, ids: dict[int, int]) -> Module:
    """The module with other frame ids: nearly every instruction is new, so all are made anew."""
    became: dict[Instruction, Instruction] = {}
    computations: dict[Computation, Computation] = {}
    annotations: dict[Annotations, Annotations] = {}
    for computation in module.computations:
        for i in computation.instructions:
            notes = annotations.get(i.annotations)
            if notes is None:
                notes = annotations[i.annotations] = _with_ids(i.annotations, ids)
            became[i] = Instruction(
                i.name,
                i.opcode,
                i.shape,
                tuple([became[o] for o in i.operands]),
                i.attrs,
                tuple([computations[c] for c in i.called]),
                tuple([became[p] for p in i.control_predecessors]),
                notes,
                i.span,
            )
        body = tuple([became[i] for i in computation.instructions])
        computations[computation] = replace(
            computation, instructions=body, root=became[computation.root]
        )
    entry = computations[module.entry]
    return replace(module, computations=tuple(computations.values()), entry=entry)


def _with_ids(annotations: Annotations, ids: dict[int, int]) -> Annotations:
    """Annotations whose metadata has its frame's new number, or none."""
    metadata = annotations.metadata
    if metadata is None or "stack_frame_id" not in metadata.text:
        return annotations
    number = ids.get(metadata.stack_frame_id, 0)
    if number:
        text = _ID.sub(f"stack_frame_id={number}", metadata.text)
    else:
        text = _WITH_SPACE.sub("", metadata.text)
    return replace(annotations, metadata=Metadata(text))


class _Tables:
    """New tables, into which rows of the old ones are taken as they are needed."""

    def __init__(self, old: StackFrames, used: Iterable[int]) -> None:
        self.old = old
        self.files: dict[str, int] = {}
        self.functions: dict[str, int] = {}
        self.locations: dict[str, int] = {}
        self.frames: dict[str, int] = {}
        self.ids: dict[int, int] = {}
        for number in dict.fromkeys(used):
            self._take(number)
        self.new = StackFrames(
            *map(tuple, (self.files, self.functions, self.locations, self.frames))
        )

    def _take(self, number: int) -> None:
        """Take a frame over, its callers first."""
        chain: dict[int, str] = {}
        while number not in self.ids and number not in chain:
            row = _row(self.old.stack_frames, number)
            if not row:
                break
            chain[number] = row
            # A caller is written as its row and 1 more, so that 1 means that there is none.
            number = int(dict(_REFERENCES.findall(row)).get("parent_frame_id", "1")) - 1
        for at, row in reversed(chain.items()):
            ids = {key: int(value) for key, value in _REFERENCES.findall(row)}
            parent = self.ids.get(ids.get("parent_frame_id", 1) - 1, 0)
            location = self._location(ids.get("file_location_id", 0))
            new = f"{{file_location_id={location} parent_frame_id={parent + 1}}}"
            self.ids[at] = _number(self.frames, new)

    def _location(self, number: int) -> int:
        row = _row(self.old.file_locations, number)
        if not row:
            return 0
        ids = {key: int(value) for key, value in _REFERENCES.findall(row)}
        file = _row(self.old.file_names, ids.get("file_name_id", 0))
        function = _row(self.old.function_names, ids.get("function_name_id", 0))
        new = {
            "file_name_id": _number(self.files, file) if file else 0,
            "function_name_id": _number(self.functions, function) if function else 0,
        }
        text = _REFERENCES.sub(lambda m: f"{m[1]}={new.get(m[1], m[2])}", row)
        return _number(self.locations, text)


def _row(table: tuple[str, ...], number: int) -> str:
    """A row by its number, counted from 1; "" if there is no such row."""
    return table[number - 1] if 0 < number <= len(table) else ""


def _number(table: dict[str, int], row: str) -> int:
    """The number of a row, which is added if it is new."""
    return table.setdefault(row, len(table) + 1)
