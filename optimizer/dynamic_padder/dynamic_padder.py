"""Pads arrays of run-time sizes to their bounds.

    p = f32[<=8] parameter(0)          p = f32[<=8] parameter(0)
                                       both = (f32[8], s32[]) custom-call(p),
                                           custom_call_target="PadToStatic"
                                       x = f32[8] get-tuple-element(both), index=0
                                       n = s32[] get-tuple-element(both), index=1
    ROOT e = f32[<=8] exp(p)      =>   e = f32[8] exp(x)
                                       ROOT r = f32[<=8] custom-call(e, n),
                                           custom_call_target="SliceToDynamic"

What lies after the elements that count is never looked at: where an opcode mixes elements, it is
replaced by what leaves the others alone, as a sum by one that has zeros in their place.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from optimizer.dynamic_padder.boundary import is_padded
from optimizer.dynamic_padder.padding import is_dynamic, pad
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Module
    from optimizer.log import Log


class UnpaddedWarning(UserWarning):
    """A module has run-time sizes for which there is no static form."""


@register
@dataclass(frozen=True)
class DynamicPadder:
    """Gives all arrays but arguments and results static sizes.

    A module with something that has no static form stays as it is.

    Warns
    -----
    UnpaddedWarning
        with the reason, if it stays so.
    """

    name = "dynamic-padder"
    xla = "xla/service/dynamic_padder.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module with static arrays between PadToStatic and SliceToDynamic."""
        if not is_dynamic(module) or is_padded(module):
            return module
        try:
            padded = pad(module)
        except HloError as error:
            if error.code != "HLO181":
                raise
            warnings.warn(f"{module.name} stays dynamic: {error}", UnpaddedWarning, stacklevel=2)
            return module
        return padded if log.rewrite("pad", module.entry.root, padded.entry.root) else module
