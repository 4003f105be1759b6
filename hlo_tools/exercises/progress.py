"""The exercises that somebody has done, kept between runs.

They are in `pyhlo/exercises.json` in the folder for states of programs, as XDG has it: what is
there is no cache, and `hlo doctor --clear-cache` leaves it alone.

The exercises were numbered anew once, in the order of the chapters. A file from before has the
numbers of that time, which `FORMERLY` translates.
"""

from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path
from typing import Any, cast

# In the order of today's numbers, from 1 on; 0 for an exercise that was not there.
FORMERLY = (
    *range(66, 70), *range(1, 27), *range(58, 66), *range(27, 35), 40, 0, 0, 0, 0,
    *range(70, 74), *range(50, 54), 37, 38, 39, 41, *range(42, 50), *range(54, 58), 35, 36,
)  # fmt: skip


def former(number: int) -> int:
    """The number that an exercise had before; its own, if it is newer."""
    return next(iter(FORMERLY[number - 1 : number]), 0) or number


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
        content: Any = json.loads(path.read_text()) if path else {}
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict):
        return {}
    whole = cast("dict[str, Any]", content)
    rows: Any = whole.get("done", whole)
    if not isinstance(rows, dict):
        return {}
    days = cast("dict[str, Any]", rows)
    read = {int(number): str(day) for number, day in days.items() if number.isdecimal()}
    if rows is not whole:
        return read
    return {n: read[old] for n, old in enumerate(FORMERLY, 1) if old in read}


def add(number: int) -> None:
    """Note that an exercise is done; nothing happens where that cannot be written."""
    path, known = file(), done()
    if path is None or number in known:
        return
    rows = {str(n): day for n, day in sorted({**known, number: date.today().isoformat()}.items())}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(f".{os.getpid()}")
        beside.write_text(json.dumps({"done": rows}))
        beside.replace(path)
    except OSError:
        return
