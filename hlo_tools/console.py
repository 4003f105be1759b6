"""Where verbs print for people: with colours on a terminal, unless NO_COLOR is set."""

from __future__ import annotations

import os
import sys

from rich.console import Console


def plain() -> bool:
    """Whether nothing but text is wanted, as https://no-color.org says."""
    return bool(os.environ.get("NO_COLOR"))


def is_watched() -> bool:
    """Whether a person reads standard error as it comes, on a terminal that can rewrite a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def console(*, stderr: bool = False, width: int | None = None) -> Console:
    """A console that breaks no lines, and marks no numbers.

    Without colours there is no bold and nothing that moves either, as where no terminal is.

    Parameters
    ----------
    width : of tables; as wide as the terminal if None.
    """
    terminal = False if plain() else None
    return Console(
        stderr=stderr, highlight=False, soft_wrap=True, force_terminal=terminal, width=width
    )
