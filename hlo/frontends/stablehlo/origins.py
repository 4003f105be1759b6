"""Source locations of operations in the user's program, as HLO's metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.attributes.annotations import Metadata
from hlo.read.quoting import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

# Names of locations may stand for one another; so deep they are followed.
_DEPTH = 20


def metadata_of(location: Any, locations: Mapping[str, Any]) -> Metadata | None:
    """The metadata of a location: the framework's name, the file and the line, as far as known.

    Parameters
    ----------
    locations : by the names that the text gives them.
    """
    name, file, line = place_of(location, locations)
    parts = [f"op_name={quote(name)}"] if name else []
    parts += [f"source_file={quote(file)}"] if file else []
    # XLA's are signed numbers of 32 bits, and it does not print 0.
    parts += [f"source_line={line}"] if file and 0 < line < 1 << 31 else []
    return Metadata(" ".join(parts)) if parts else None


def place_of(location: Any, locations: Mapping[str, Any]) -> tuple[str, str, int]:
    """The framework's name of a location, and its file and line; `locations` as above."""
    name, file, line = "", "", 0
    for _ in range(_DEPTH):
        match location:
            case ("named", str(text), inside):
                name, location = name or text, inside
            case ("file", str(text), int(number)):
                file, line, location = text, number, None
            case ("elsewhere", str(alias), None):
                location = locations.get(alias)
            case _:
                break
    return name, file, line
