"""Importing files when they are first needed, so that a short command starts at once."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def import_files(package: str) -> None:
    """Import every file of a package and its folders, which fills the tables they write to."""
    for module in walk_packages(import_module(package).__path__, f"{package}."):
        import_module(module.name)


def names_of(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`, which imports the files of its names when they are asked for.

    Parameters
    ----------
    homes : the file of each name.

    References
    ----------
    PEP 562.
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        value = getattr(import_module(homes[name]), name)
        vars(import_module(package))[name] = value
        return value

    return get
