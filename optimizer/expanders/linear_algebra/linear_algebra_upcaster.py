"""Computes linear algebra of small floats in f32, and rounds once at the end.

bf16[n,n] cholesky(A)   =>   convert(f32[n,n] cholesky(convert(A)))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.expanders.op_expander import expander
from optimizer.expanders.parts import to_type, wide
from optimizer.rewriting.pattern import cholesky, one_of, triangular_solve, xs

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@expander("linear-algebra-upcaster", one_of(cholesky, triangular_solve)(xs), always=True)
def compute_wide(root: Instruction, xs: tuple[Instruction, ...]) -> Instruction | None:
    """Converts the operands of cholesky and triangular-solve to f32, and the result back."""
    operands = tuple(map(wide, xs))
    if operands == xs:
        return None
    shape = root.shape.with_type(operands[0].shape.element_type)
    computed = root.with_(operands=operands, shape=shape)
    return to_type(computed, root.shape.element_type)
