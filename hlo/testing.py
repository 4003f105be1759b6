"""Hypothesis strategies for tests of compilers and passes: modules, arguments, left sides of rules.

The name is here, where users look for it. What it names needs the interpreter and the optimizer,
which know this package and not the other way round, so it is looked up when it is first used:
`hlo_tools.testing` has the code. Nothing else of this package imports this file.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

NAMES = ("DrawnCase", "arguments", "cases", "check_pass", "instances", "modules")


def __getattr__(name: str) -> Any:
    """A strategy or helper by its name."""
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("hlo_tools.testing"), name)


def __dir__() -> list[str]:
    return list(NAMES)
