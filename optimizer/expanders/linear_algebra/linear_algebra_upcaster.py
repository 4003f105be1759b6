"""Computes linear algebra of small floats in f32, and rounds once at the end.

bf16[n,n] cholesky(A)   =>   convert(f32[n,n] cholesky(convert(A)))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import ExpansionSite, expander
from optimizer.expanders.parts import to_type, wide

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("linear-algebra-upcaster", "cholesky", "triangular-solve", always=True)
def compute_wide(site: ExpansionSite) -> Instruction | None:
    """Converts the operands of cholesky and triangular-solve to f32, and the result back."""
    instr = site.instr
    operands = tuple(map(wide, instr.operands))
    if operands == instr.operands:
        return None
    shape = instr.shape.with_type(operands[0].shape.element_type)
    computed = instr.with_(operands=operands, shape=shape)
    return to_type(computed, instr.shape.element_type)
