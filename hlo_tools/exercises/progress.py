"""The exercises that somebody has done, kept between runs.

They are in `pyhlo/exercises.json` in the folder for states of programs, as XDG has it: what is
there is no cache, and `hlo doctor --clear-cache` leaves it alone.
"""

from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path
from typing import Any, cast


def file() -> Path | None:
    """The file that keeps them; None where nobody is at home."""
    base = os.environ.get("XDG_STATE_HOME", "")
    try:
        folder = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        return None
    return folder / "pyhlo" / "exercises.json"


def done() -> dict[int, str]:
    """The day on which each exercise was done first; empty where nothing can be read."""
    path = file()
    try:
        found: Any = json.loads(path.read_text()) if path else {}
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    rows = cast("dict[str, Any]", found)
    return {int(number): str(day) for number, day in rows.items() if number.isdecimal()}


def add(number: int) -> None:
    """Note that an exercise is done; nothing happens where that cannot be written."""
    path, known = file(), done()
    if path is None or number in known:
        return
    rows = {str(n): day for n, day in sorted({**known, number: date.today().isoformat()}.items())}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{os.getpid()}")
        beside.write_text(json.dumps(rows))
        beside.replace(path)
    except OSError:
        return
