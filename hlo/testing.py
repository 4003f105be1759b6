"""Hypothesis strategies for tests of compilers and passes: modules, arguments, left sides of rules.

The name is here, where users look for it. Who makes such modules are the tools, which know this
package and not the other way round. So they say in the metadata of their installation which objects
these are: the entry points of the group `pyhlo.testing`, a strategy or helper each.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

GROUP = "pyhlo.testing"


def __getattr__(name: str) -> Any:
    """A strategy or helper by its name."""
    for entry in entry_points(group=GROUP, name=name):
        return entry.load()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {__dir__()}")


def __dir__() -> list[str]:
    return sorted(entry_points(group=GROUP).names)
