"""The table of meanings: one short NumPy function an opcode.

A function takes `(instr, attrs, *operands)`: the instruction (for its shape), its attributes (of
the class that the opcode's row names) and its operands' values. Opcodes that call computations, or
that touch the device they run on, take a `Frame` in front: `(frame, instr, attrs, *operands)`.

Values are NumPy arrays of exactly the element type's NumPy type; a tuple's value is a Python tuple
and a token's is None. Operands may be read-only or views of other values: no function writes to
one. A result may be a view of an operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hlo.table import OpTable

if TYPE_CHECKING:
    from hlo.opcode import Opcode

Value = Any  # an array, None for a token, or a tuple of values
Evaluate = Callable[..., Value]

evaluates: OpTable[Evaluate] = OpTable("evaluates")


def needs_frame(row: Opcode) -> bool:
    """Whether an opcode's function takes a frame: it calls computations or touches its device."""
    return bool(row.called) or bool(row.traits & {"device", "collective", "async"})
