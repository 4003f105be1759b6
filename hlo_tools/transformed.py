"""Modules after a transformation that changes their function, such as `grad` and `vmap`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.log import Log
from optimizer.observers import Verify
from optimizer.pipeline_text import parse_pipeline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo.instruction import Module


def transformed(module: Module, name: str, options: Mapping[str, str | None]) -> str:
    """The text of a module after a pass and CSE.

    Parameters
    ----------
    options : of the pass, as text; None for its default.
    """
    given = ",".join(f"{key}={value}" for key, value in options.items() if value is not None)
    passes = parse_pipeline(f"{name}{{{given}}},cse" if given else f"{name},cse")
    return str(Log([Verify()]).run(passes, module))
