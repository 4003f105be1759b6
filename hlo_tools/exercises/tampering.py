"""Notices that an answer has replaced a function of the checker, which runs in its process.

An answer that knows this file can hide from it: it makes cheating work, not impossible.
"""

from __future__ import annotations

import sys
from typing import Any

# Modules of which all functions and classes are compared.
ROOMS = ("hlo", "hlo_tools", "interpreter", "optimizer", "codegen", "emit_c", "emit_cuda")
STANDARD = ("json", "builtins", "operator", "numpy")


def functions() -> dict[tuple[str, str], tuple[Any, Any]]:
    """All functions of loaded modules and their classes, by module and name, with their code."""
    found: dict[tuple[str, str], tuple[Any, Any]] = {}
    for name, module in list(sys.modules.items()):
        if name in STANDARD or name.partition(".")[0] in ROOMS:
            for key, value in list(vars(module).items()):
                _add(found, name, key, value)
                if isinstance(value, type) and value.__module__ == name:
                    for method, function in list(vars(value).items()):
                        _add(found, name, f"{key}.{method}", function)
    return found


def _add(found: dict[tuple[str, str], tuple[Any, Any]], name: str, key: str, value: Any) -> None:
    function = getattr(value, "__func__", value)
    if callable(function):
        found[name, key] = (function, getattr(function, "__code__", None))


def changed(before: dict[tuple[str, str], tuple[Any, Any]]) -> str:
    """The name of a function that is another one by now; empty if there is none."""
    after = functions()
    for where, (function, code) in before.items():
        now = after.get(where)
        if now is None or now[0] is not function or now[1] is not code:
            return ".".join(where)
    return ""
