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

    Parameters
    ----------
    width : of tables; as wide as the terminal if None.
    """
    # Without colours rich would still write bold.
    colours = None if plain() else "auto"
    return Console(
        stderr=stderr, highlight=False, soft_wrap=True, color_system=colours, width=width
    )
