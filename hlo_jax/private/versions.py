"""The platform's name, and the versions of JAX that PyHLO knows."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import version
from typing import Any

PLATFORM = "pyhlo"
# Names the file of a page of the viewer, for the largest program.
VIEW = "PYHLO_VIEW"
TRIED = ("0.10.2", "0.10.1", "0.10.0", "0.9.2", "0.9.1", "0.9.0")
# Older ones were never tried; newer ones may have moved the functions used here.
OLDEST = (0, 9, 0)


def module(name: str) -> Any:
    """A module of JAX, imported when it is called: nothing else of PyHLO needs JAX."""
    return import_module(name)


def jaxlib_version() -> str:
    """The installed jaxlib's version."""
    return version("jaxlib")


def is_too_old() -> bool:
    """Whether jaxlib is older than any version with which this file works."""
    found = tuple(int(n) for n in re.findall(r"\d+", jaxlib_version())[:3])
    return found < OLDEST


def moved(error: Exception) -> ImportError:
    """The message where JAX has changed a name of this file."""
    versions = f"JAX {version('jax')} with jaxlib {jaxlib_version()}"
    last = f"{type(error).__name__}: {error}"
    tried = f"PyHLO was tried with {', '.join(TRIED)}"
    return ImportError(f"{PLATFORM}: {versions} is not as PyHLO knows it ({last}); {tried}")
