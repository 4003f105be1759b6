"""Converts where an instruction mixes floats of several precisions.

bf16[8] slice(f32[16] x)   =>   convert(f32[8] slice(x))
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from interpreter.precision import explicit_precision
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class ExplicitPrecision:
    """Splits what mixes floats of several precisions into conversions and what computes in one."""

    name = "explicit-precision"
    xla = (
        "xla/hlo/transforms/simplifiers/float_normalization.cc, which does so where a backend "
        "does not support such types"
    )

    def run(self, module: Module, log: Log) -> Module:
        """The module whose instructions say the types of what they compute."""
        return explicit_precision(module, partial(log.allow, "explicit_precision"))
