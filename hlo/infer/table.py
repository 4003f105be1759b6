"""The table of shapes: one short function an opcode that says what its result looks like.

A function takes `(instr, attrs, *shapes)`: the instruction (for what it calls, and for a shape
that can't be inferred), its attributes and its operands' shapes. It returns the result's shape in
the default layout, or raises an `HloError` without a position; `hlo.infer.infer` adds that.
"""

from __future__ import annotations

from collections.abc import Callable

from hlo.shape import Shape
from hlo.table import OpTable

Infer = Callable[..., Shape]

infers: OpTable[Infer] = OpTable("infers")
