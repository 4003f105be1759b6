"""Computes dots and convolutions of small floats in f32.

f16[] dot(f16[n] x, f16[n] y)   =>   convert(f32[] dot(convert(x), convert(y)))

Small floats are summed up in f32 and rounded once anyway, so this keeps every bit; it is for
libraries that have no such product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo.types.element_type import ELEMENT_TYPES
from optimizer.expanders.op_expander import Site, expand
from optimizer.expanders.parts import to_type
from optimizer.passes import register

if TYPE_CHECKING:
    from hlo.instruction import Instruction, Module
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class ChangeOpDataType:
    """Converts dots and convolutions of one type to another and back.

    Attributes
    ----------
    source, target : names of element types.

    References
    ----------
    XLA, `xla/service/change_op_data_type.cc`.
    """

    name = "change-op-data-type"
    source: str = "f16"
    target: str = "f32"

    def run(self, module: Module, log: Log) -> Module:
        """The module without dots and convolutions of the source type."""
        source, target = ELEMENT_TYPES[self.source], ELEMENT_TYPES[self.target]

        def compute_in_target(site: Site) -> Instruction | None:
            instr = site.instr
            shapes = [instr.shape, *(operand.shape for operand in instr.operands)]
            if any(shape.element_type is not source for shape in shapes):
                return None
            operands = tuple(to_type(operand, target) for operand in instr.operands)
            product = instr.with_(operands=operands, shape=instr.shape.with_type(target))
            return to_type(product, source)

        both = {"dot": compute_in_target, "convolution": compute_in_target}
        return expand(module, log, both)
