"""The table of shape inference: one short function an opcode that returns its result's shape.

A function takes `(instr, attrs, *shapes)`: the instruction (for what it calls, and for a shape
that can't be inferred), its attributes and its operands' shapes. It returns the result's shape, or
raises an `HloError` without a position; `hlo.infer.infer` adds that.

Layouts are as in XLA: a result that is shaped like an operand is laid out like it, any other is
row-major.
"""

from __future__ import annotations

from collections.abc import Callable

from hlo.table import OpTable
from hlo.types.shape import Shape

Infer = Callable[..., Shape]

infers: OpTable[Infer] = OpTable("infers")
