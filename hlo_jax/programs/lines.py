"""From an instruction to the line of the user's program that it came from."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Generator

    from hlo.errors.error import Span
    from hlo.instruction import Instruction, Module

_FRAME = re.compile(r"stack_frame_id=(\d+)")


@contextmanager
def telling_line(module: Module) -> Generator[None]:
    """Let an error at an instruction of a module tell the user's line, too."""
    try:
        yield
    except HloError as error:
        line = line_at(module, error.span)
        raise error.noting(f"in the program: {line}") if line else error from None


def line_at(module: Module, span: Span | None) -> str:
    """The user's line of the instruction at a place in a module's text; empty where unknown."""
    instr = _instruction_at(module, span)
    return line_of(module, instr) if instr is not None else ""


def _instruction_at(module: Module, span: Span | None) -> Instruction | None:
    """The instruction on the line of the text where a span begins; None if there is none."""
    if span is None:
        return None
    text = span.source.text
    begin = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", begin)
    end = len(text) if end < 0 else end
    for instr in module.instructions():
        own = instr.span
        if own is not None and own.source is span.source and begin <= own.start < end:
            return instr
    return None


def line_of(module: Module, instr: Instruction) -> str:
    """The line as "train.py:17 (jit(step)/dot_general)"; empty where nothing is known of it."""
    metadata = instr.annotations.metadata
    if metadata is None:
        return ""
    location = f"{metadata.source_file}:{metadata.source_line}" if metadata.source_file else ""
    if not location and (found := _FRAME.search(metadata.text)):
        location = _line_of_frame(module, int(found[1]))
    name = f"({metadata.op_name})" if metadata.op_name else ""
    return " ".join(filter(None, (location, name)))


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
