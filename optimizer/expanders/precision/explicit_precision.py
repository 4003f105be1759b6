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
    """Splits instructions of mixed precision into conversions and an instruction of one type."""

    name = "explicit-precision"
    xla = (
        "xla/hlo/transforms/simplifiers/float_normalization.cc, which does so where a backend "
        "does not support such types"
    )

    def run(self, module: Module, log: Log) -> Module:
        """The module whose instructions compute in the types of their shapes."""
        return explicit_precision(module, partial(log.allow, "explicit_precision"))
