"""Modules after a transformation that changes their function, such as `grad` and `vmap`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo_tools.options.files import BETWEEN, chosen_modules, write_text
from optimizer.log import Log
from optimizer.observers import Verify
from optimizer.pipeline_text import parse_pipeline

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping


def write_transformed(arguments: Namespace, name: str, options: Mapping[str, str | None]) -> None:
    """Write the chosen modules after a pass and CSE.

    Parameters
    ----------
    options : of the pass, as text; None for its default.
    """
    option_text = ",".join(f"{key}={value}" for key, value in options.items() if value is not None)
    passes = parse_pipeline(f"{name}{{{option_text}}},cse" if option_text else f"{name},cse")
    texts = [str(Log([Verify()]).run(passes, module)) for module in chosen_modules(arguments)]
    write_text(arguments.output, f"{BETWEEN}\n".join(texts))
