"""Operations that may be grouped at will, and what they leave alone.

`add(x, 0)` is x: so 0 may be put into a sum anywhere. The -0 of floats is the one that leaves even
-0 alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hlo.opcode import OPCODES
from interpreter.conversion import integer_range
from optimizer.rewriting.make import value_of

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction
    from hlo.types.element_type import ElementType
    from optimizer.rewriting.make import Number


def operation_of(body: Computation) -> str:
    """The associative opcode that a computation of two parameters is; "" if it is none."""
    root = body.root
    if "associative" not in OPCODES[root.opcode].traits or len(body.parameters) != 2:
        return ""
    return root.opcode if set(root.operands) == set(body.parameters) else ""


def identity(opcode: str, element_type: ElementType) -> Number | None:
    """The number that an operation leaves others alone with; None if it is not known."""
    kind = element_type.kind
    if kind == "pred":
        return {"add": False, "or": False, "xor": False, "maximum": False}.get(opcode, True)
    if kind == "complex":
        return {"add": 0, "multiply": 1}.get(opcode)
    if kind == "float":
        # Not every small float has infinities.
        infinite = bool(np.isinf(np.asarray(np.inf).astype(element_type.dtype)))
        found = {"add": -0.0, "multiply": 1.0}
        extremes = {"maximum": -np.inf, "minimum": np.inf} if infinite else {}
        return {**found, **extremes}.get(opcode)
    low, high = integer_range(element_type)
    ones = -1 if kind == "signed" else high
    return {"add": 0, "multiply": 1, "maximum": low, "minimum": high, "and": ones}.get(opcode, 0)


def is_identity(instr: Instruction, opcode: str) -> bool:
    """Whether an initial value is a constant that an operation leaves others alone with."""
    value, wanted = value_of(instr), identity(opcode, instr.shape.element_type)
    if value is None or wanted is None:
        return False
    return bool((value == np.asarray(wanted).astype(value.dtype)).all())
