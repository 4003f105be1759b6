"""Source locations, for people: `optimizer/rules/add.py:31`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlo_tools.rooms import HOME
from optimizer.log import location_of
from optimizer.rewriting.rule import Rule

if TYPE_CHECKING:
    from optimizer.log import SourceLine


def spell_location(location: SourceLine) -> str:
    """A file, as seen from PyHLO's own folder, and a line; "" if it is not known."""
    if not location.file:
        return ""
    path = Path(location.file)
    shown = path.relative_to(HOME) if path.is_relative_to(HOME) else path
    return f"{shown}:{location.line}"


def defined(entry: Any) -> str:
    """The location of a function, or of one inside of an entry of a table."""
    if isinstance(entry, type):
        entry = getattr(entry, "expansion", getattr(entry, "run", entry))
    if isinstance(entry, Rule):
        return spell_location(entry.location)
    for candidate in (entry, getattr(entry, "function", None), getattr(entry, "func", None)):
        if callable(candidate) and (place := spell_location(location_of(candidate))):
            return place
    return ""
