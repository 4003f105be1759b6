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
    from hlo.instruction import Instruction
    from hlo.opcode import Opcode

Value = Any  # an array, None for a token, or a tuple of values
Evaluate = Callable[..., Value]

evaluates: OpTable[Evaluate] = OpTable("evaluates")

# For some functions: what makes one instruction's own, equal and faster, out of what its types say.
_prepared: dict[Evaluate, Callable[[Instruction], Evaluate]] = {}


def prepares(
    function: Evaluate,
) -> Callable[[Callable[[Instruction], Evaluate]], Callable[[Instruction], Evaluate]]:
    """Let the decorated function prepare instructions that a function of the table computes."""

    def register(prepare: Callable[[Instruction], Evaluate]) -> Callable[[Instruction], Evaluate]:
        _prepared[function] = prepare
        return prepare

    return register


def prepared(function: Evaluate, instr: Instruction) -> Evaluate:
    """The function for one instruction of a verified module, which may run many times."""
    prepare = _prepared.get(function)
    return function if prepare is None else prepare(instr)


def needs_frame(row: Opcode) -> bool:
    """Whether an opcode's function takes a frame: it calls computations or touches its device."""
    return bool(row.called) or bool(row.traits & {"device", "collective", "async"})
