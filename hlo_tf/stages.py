"""The text of a compiled function at each stage of compilation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import did_you_mean
from hlo.stages import text_at

if TYPE_CHECKING:
    from hlo.instruction import Module

# The stage as TensorFlow and `hlo opt --stage` call it; `hlo` is the module before optimizations.
_OPTIMIZED = {"optimized_hlo": "hlo", "optimized_hlo_dot": "dot"}
_OF_CUDA = ("cuda", "ptx", "sass")
STAGES = ("hlo", *_OPTIMIZED, "buffers", "loops", "c", "asm", *_OF_CUDA, "dot", "svg")


def text(module: Module, stage: str) -> str:
    """A module at a stage.

    Raises
    ------
    ValueError
        if there is no such stage.
    HloError
        as `hlo opt --stage`.
    """
    if stage == "hlo":
        return str(module)
    if stage not in STAGES:
        hint = " ".join(did_you_mean(stage, STAGES))
        raise ValueError(f"there is no stage {stage!r}: {', '.join(STAGES)}. {hint}".rstrip())
    return text_at(module, _OPTIMIZED.get(stage, stage))
