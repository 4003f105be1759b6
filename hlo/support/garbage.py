"""Python's garbage collector, left alone while many objects are made."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


# So many objects may grow old unseen before garbage among them is looked for.
_MOST_UNSEEN = 1 << 21
# So few new objects are left to the collector, which looks at them in 0.3 ms: to count frozen ones
# takes 4 ms and more in a program that has frozen a million.
_FEW = 1 << 14
# Python 3.12 has frozen some hundred objects of its own when a program begins.
_FROZEN_BY_PYTHON = gc.get_freeze_count()


@contextmanager
def no_collection() -> Generator[None]:
    """Collect no garbage meanwhile.

    Whoever reads or rewrites a module makes millions of small objects and hardly any garbage: the
    collector would only walk over them, and over all else that there is, again and again. Nor does
    it walk over them at the end: what is left is taken for old, until there is much of it.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            _GROWN.grow_old()
            gc.enable()


@dataclass
class _Grown:
    """The number of objects that grew old since the last collection of old garbage."""

    unseen: int = 0

    def grow_old(self) -> None:
        """Let all objects be old ones, or leave it to the collector to look at them."""
        made = gc.get_count()[0]
        if made < _FEW:
            return
        self.unseen += made
        if self.unseen > _MOST_UNSEEN:
            self.unseen = 0
            gc.collect()
        # Objects that a program has frozen itself must stay so.
        elif gc.get_freeze_count() <= _FROZEN_BY_PYTHON:
            gc.freeze()
            gc.unfreeze()


_GROWN = _Grown()
