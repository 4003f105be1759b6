"""Replaces values without elements by constants: however they are computed, nothing is there.

ROOT d = f32[0,8] dot(x, y)      ROOT d = f32[0,8] constant({})
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hlo.effects import has_effect
from hlo.opcode import GIVEN
from hlo.walk import names_of
from optimizer.passes import register
from optimizer.rewriting.make import constant
from optimizer.rewriting.sites import replace_each

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.log import Log


# Of the braces `{}` that a constant's text may have: [1000,1000,0] has a million.
LONGEST = 10_000


@register
@dataclass(frozen=True)
class ZeroSizedHloElimination:
    """Replaces arrays without elements by constants."""

    name = "zero_sized_hlo_elimination"
    xla = "xla/hlo/transforms/simplifiers/zero_sized_hlo_elimination.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module in which only constants and parameters are empty."""
        names = names_of(module)

        def emptied(instr: Instruction) -> Instruction | None:
            shape = instr.shape
            empty = shape.is_array and shape.size == 0 and not shape.is_dynamic
            if not empty or instr.opcode in GIVEN or has_effect(instr):
                return None
            if prod(shape.dims[: shape.dims.index(0)]) > LONGEST:
                return None
            # A backend's configuration of the instruction is none for a constant.
            annotations = instr.annotations.inherited(instr.annotations.sharding)
            return constant(np.zeros(shape.dims, shape.element_type.dtype)).with_(
                name=names.unique("constant"), shape=shape, annotations=annotations
            )

        return replace_each(module, log, "empty", emptied)
