"""From an instruction to the line of the user's program that it came from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module

_FRAME = re.compile(r"stack_frame_id=(\d+)")


def line_of(module: Module, instr: Instruction) -> str:
    """The line as "train.py:17 (jit(step)/dot_general)"; empty where nothing is known of it."""
    metadata = instr.annotations.metadata
    if metadata is None:
        return ""
    place = f"{metadata.source_file}:{metadata.source_line}" if metadata.source_file else ""
    if not place and (found := _FRAME.search(metadata.text)):
        place = _line_of_frame(module, int(found[1]))
    name = f"({metadata.op_name})" if metadata.op_name else ""
    return " ".join(filter(None, (place, name)))


def _line_of_frame(module: Module, frame: int) -> str:
    """The file and line of a row of the stack-frame tables, whose rows are counted from 1."""
    tables = module.stack_frames
    try:
        location = _number(tables.stack_frames[frame - 1], "file_location_id")
        row = tables.file_locations[location - 1]
        file = tables.file_names[_number(row, "file_name_id") - 1].strip('"')
        return f"{file}:{_number(row, 'line')}"
    except (IndexError, ValueError):
        return ""


def _number(row: str, key: str) -> int:
    found = re.search(rf"\b{key}=(\d+)", row)
    if not found:
        raise ValueError(key)
    return int(found[1])
