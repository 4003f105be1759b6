"""Where PyHLO keeps on disk what is slow to make and can be made again at any time."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(name: str) -> Path | None:
    """A folder of the user's cache, by the XDG rules; None where none can be written."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        root = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
        folder = root / "pyhlo" / name
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError):  # Path.home raises RuntimeError where nobody is at home
        return None
    return folder if os.access(folder, os.W_OK) else None
