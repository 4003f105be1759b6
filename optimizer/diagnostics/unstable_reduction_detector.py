"""Finds sums in types so narrow that they lose most of their terms.

Adding 1.0 to itself in bf16 stops at 256, because 257 has no bf16. A reduction that accumulates in
a type narrower than f32 is therefore unstable, unless it is a maximum or a minimum.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.log import Log


class UnstableReductionWarning(UserWarning):
    """A reduction accumulates in a type narrower than f32."""


@register
@dataclass(frozen=True)
class UnstableReductionDetector:
    """Warns of unstable reductions; the module stays as it is.

    Attributes
    ----------
    fail : refuse the module instead.
    """

    name = "unstable-reduction-detector"
    xla = "xla/service/debug/unstable_reduction_detector.cc"
    fail: bool = False

    def run(self, module: Module, log: Log) -> Module:  # noqa: ARG002
        """The module itself.

        Raises
        ------
        HloError
            HLO154 if there is an unstable reduction and `fail` is set.
        """
        for instr in module.instructions():
            if is_unstable(instr):
                message = f"{instr.name} accumulates in {instr.shape.element_type.name}"
                if self.fail:
                    raise HloError("HLO154", message, instr.span)
                warnings.warn(message, UnstableReductionWarning, stacklevel=2)
        return module


def is_unstable(instr: Instruction) -> bool:
    """Whether an instruction is a reduction that may lose most of its operand."""
    if instr.opcode != "reduce" or not instr.shape.is_array:
        return False
    element_type, root = instr.shape.element_type, instr.called[0].root
    is_extreme = root.opcode in ("maximum", "minimum") and all(
        o.opcode == "parameter" for o in root.operands
    )
    return element_type.is_floating and element_type.bits < 32 and not is_extreme
