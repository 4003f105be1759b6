"""A compiled module as text, at each stage of compilation: for front ends.

Who writes these texts are the tools, which know the front ends and not the other way round. So they
say in the metadata of their installation which function writes them: the entry point `text` of the
group `pyhlo.stages`.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlo.instruction import Module

GROUP = "pyhlo.stages"


def text_at(module: Module, stage: str) -> str:
    """A module at a stage.

    Parameters
    ----------
    stage : as of `hlo opt --stage`, or "page": the page of `hlo view`.

    Raises
    ------
    HloError
        as `hlo opt --stage`.
    """
    (written,) = entry_points(group=GROUP, name="text")
    return written.load()(module, stage)
