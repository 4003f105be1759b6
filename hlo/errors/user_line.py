"""The line of the user's program behind a place in a dump, for errors that point there.

It is found in the text itself, since an error may come before there is a module: the metadata of
the instruction's line in HLO, with the tables of stack frames that it refers to; `loc` in
StableHLO, with the locations that it names.
"""

from __future__ import annotations

import re

# The beginning of the note, which others may have added before.
IN_PROGRAM = "in the program: "
_STRING = r'"((?:[^"\\]|\\.)*)"'
_METADATA = re.compile(rf"metadata=\{{((?:{_STRING}|[^}}\"])*)\}}")
_FILE = re.compile(rf"\bsource_file={_STRING}")
_NAME = re.compile(rf"\bop_name={_STRING}")
_NUMBERS = re.compile(r"(\w+)=(\d+)")
_LOCATION = re.compile(r"\bloc\((.*)\)\s*$")
_PLACE = re.compile(rf"{_STRING}:(\d+):\d+")
_NAMED = re.compile(rf"^{_STRING}\(")
_ALIAS = re.compile(r"#loc\w*")
# Locations of StableHLO may name one another; so deep they are followed.
_DEPTH = 20


def user_line(text: str, line: str) -> str:
    """The line as "train.py:17 (jit(step)/dot_general)"; "" where the text has none.

    Parameters
    ----------
    text : of the whole dump.
    line : of an instruction in it.
    """
    match = _METADATA.search(line)
    if match:
        place, name = _of_metadata(text, match[1])
    elif location := _LOCATION.search(line):
        place, name = _of_location(text, location[1])
    else:
        return ""
    return " ".join(filter(None, (place, f"({name})" if name else "")))


def _of_metadata(text: str, metadata: str) -> tuple[str, str]:
    """File and line, and the framework's name."""
    file, name = _FILE.search(metadata), _NAME.search(metadata)
    numbers = dict(_NUMBERS.findall(re.sub(_STRING, "", metadata)))
    if file:
        place = f"{file[1]}:{numbers.get('source_line', '0')}"
    else:
        place = _of_frame(text, numbers.get("stack_frame_id", "0"))
    return place, name[1] if name else ""


def _of_frame(text: str, number: str) -> str:
    """The file and line of a stack frame, through the tables in front of the computations."""
    frame = dict(_NUMBERS.findall(_row(text, "StackFrames", number)))
    row = _row(text, "FileLocations", frame.get("file_location_id", "0"))
    location = dict(_NUMBERS.findall(row))
    file = _row(text, "FileNames", location.get("file_name_id", "0")).strip('"')
    return f"{file}:{location['line']}" if file and "line" in location else ""


def _row(text: str, table: str, number: str) -> str:
    begin = text.find(f"\n{table}\n")
    match = re.compile(rf"\n{number} (.*)").search(text, begin) if begin >= 0 else None
    return match[1] if match else ""


def _of_location(text: str, location: str) -> tuple[str, str]:
    """File and line of a location of MLIR, and the name around it."""
    name = ""
    for _ in range(_DEPTH):
        named = _NAMED.match(location)
        name = name or (named[1] if named else "")
        place = _PLACE.search(location)
        if place:
            return f"{place[1]}:{place[2]}", name
        alias = _ALIAS.search(location)
        match = alias and re.search(rf"^{re.escape(alias[0])} = loc\((.*)\)$", text, re.MULTILINE)
        if not match:
            break
        location = match[1]
    return "", name
