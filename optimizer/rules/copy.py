"""Rules whose left side is a copy or a bitcast: both may change the layout.

A bitcast looks at the bytes, so its value depends on its operand's layout. Only what keeps the
layout may therefore go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optimizer.rewriting.guard import guard
from optimizer.rewriting.pattern import a, bitcast, copy, x
from optimizer.rewriting.rule import Rule

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@guard
def same_layout(x: Instruction, a: Instruction) -> bool:
    """The same shape, layout and memory space."""
    return x.shape == a.shape


# fmt: off
RULES = (
    Rule(copy(x).as_(a), x, where=same_layout(x, a), xla="copy(A) => A"),
    Rule(copy(copy(x)), copy(x), xla="copy(copy(A)) => copy(A)"),
    Rule(bitcast(x).as_(a), x, where=same_layout(x, a), xla="bitcast to the same shape => A"),
    Rule(bitcast(bitcast(x)), bitcast(x), xla="bitcast(bitcast(A)) => bitcast(A)"),
)
# fmt: on
