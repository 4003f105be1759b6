"""Computes dots and convolutions of small floats in f32.

f16[] dot(f16[n] x, f16[n] y)   =>   convert(f32[] dot(convert(x), convert(y)))

Small floats are summed up in f32 and rounded once anyway, so this keeps every bit; it is for
libraries that have no such product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.types.element_type import ELEMENT_TYPES
from optimizer.expanders.op_expander import expander
from optimizer.expanders.parts import to_type
from optimizer.rewriting.pattern import convolution, dot, one_of, x, y

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander(
    "change-op-data-type",
    one_of(dot, convolution)(x, y),
    xla="xla/service/change_op_data_type.cc",
)
def compute_in_target(
    root: Instruction,
    x: Instruction,
    y: Instruction,
    *,
    source: str = "f16",
    target: str = "f32",
) -> Instruction | None:
    """Converts dots and convolutions of one type to another and back.

    Parameters
    ----------
    source, target : names of element types.
    """
    source_type, wanted = ELEMENT_TYPES[source], ELEMENT_TYPES[target]
    if any(i.shape.element_type is not source_type for i in (root, x, y)):
        return None
    operands = (to_type(x, wanted), to_type(y, wanted))
    product = root.with_(operands=operands, shape=root.shape.with_type(wanted))
    return to_type(product, source_type)
