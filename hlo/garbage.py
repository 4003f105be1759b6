"""Python's garbage collector, left alone while many objects are made."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def no_collection() -> Generator[None]:
    """Collect no garbage meanwhile.

    Whoever reads or rewrites a module makes millions of small objects and hardly any garbage: the
    collector would only walk over them, and over all else that there is, again and again.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
