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
# Python 3.12 has frozen some hundred objects of its own when a program begins.
_FROZEN_BY_PYTHON = gc.get_freeze_count()


@contextmanager
def no_collection(*, looks_after: bool = True) -> Generator[None]:
    """Collect no garbage meanwhile.

    Whoever reads or rewrites a module makes millions of small objects and hardly any garbage: the
    collector would only walk over them, and over all else that there is, again and again. Nor does
    it walk over them at the end: what is left is taken for old, until there is much of it.

    Parameters
    ----------
    looks_after : off, if nearly all that was made is needed for a moment more, and then goes
        without the collector: much of it is no reason to look at it then.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            _GROWN.grow_old(looks=looks_after)
            gc.enable()


@dataclass
class _Grown:
    """The number of objects that grew old since the last collection of old garbage.

    Attributes
    ----------
    is_frozen : the program has frozen objects itself, which must stay so. To count a million of
        them takes 4 ms, so it is not asked again.
    """

    unseen: int = 0
    is_frozen: bool = False

    def grow_old(self, *, looks: bool) -> None:
        """Let all objects be old ones, or leave it to the collector to look at them."""
        self.is_frozen = self.is_frozen or gc.get_freeze_count() > _FROZEN_BY_PYTHON
        if self.is_frozen:
            return
        self.unseen += gc.get_count()[0]
        if looks and self.unseen > _MOST_UNSEEN:
            self.unseen = 0
            gc.collect()
        else:
            gc.freeze()
            gc.unfreeze()


_GROWN = _Grown()
