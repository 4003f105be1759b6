"""Checks that imports find PyHLO's packages, and not other files of the same names."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("hlo", "interpreter", "optimizer", "codegen", "emit_c", "emit_cuda")
HOME = Path(__file__).parents[1]


def in_the_way() -> dict[str, str]:
    """The file that Python takes for each package that is not found in its place."""
    files_by_name: dict[str, str] = {}
    for name in PACKAGES:
        loaded = sys.modules.get(name)
        spec = loaded.__spec__ if loaded else find_spec(name)
        origin = spec.origin if spec else None
        if origin and Path(origin).resolve() != (HOME / name / "__init__.py").resolve():
            files_by_name[name] = origin
    return files_by_name


def explain_files(files_of: dict[str, str]) -> str:
    """A line about the files that are in the way."""
    files = ", ".join(
        f"{file} is in the way of PyHLO's package `{n}`" for n, file in files_of.items()
    )
    return f"{files}: rename it, or start in another folder"
