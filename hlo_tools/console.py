"""The console of verbs, with colours on a terminal unless NO_COLOR is set."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

# Tables are at least as wide on a terminal, so that their numbers are not cut away.
LEAST_WIDTH = 100
# Where nobody looks at a terminal, lines are as long as they like.
WHOLE_WIDTH = 1000
# Names are folded at this length.
_LONGEST_NAME = 40


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


def table_of(words: Sequence[str], numbers: Sequence[str]) -> Table:
    """A table of columns of words, and then of numbers; words are folded, numbers never."""
    table = Table(box=None, caption_justify="left")
    for name in words:
        table.add_column(name, max_width=_LONGEST_NAME, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def print_table(table: Table) -> None:
    """Print a table, as wide as the terminal, but so that no number is cut away."""
    width = WHOLE_WIDTH
    if sys.stdout.isatty():
        width = max(console().width, LEAST_WIDTH)
    console(width=width).print(table, soft_wrap=False)
