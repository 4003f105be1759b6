"""The limit of how much more a text may stand for than it says.

A shape that is left out is worked out from the operands, and twenty tuples of tuples hold a million
arrays; `constant(1)` is as many bytes as its shape says. What a text writes out, it may have; what
it leaves out is bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.attributes import Constant
from hlo.errors.error import HloError

if TYPE_CHECKING:
    from hlo.instruction import Instruction
    from hlo.types.literal import Literal

MOST_LEAVES = 1 << 18
MOST_BYTES = 1 << 28
# The bytes of an element that is written as one character, with another between it and the next.
_LARGEST = 16


class Budget:
    """Counts the arrays of a module's instructions, and the bytes of its constants.

    Parameters
    ----------
    length : characters of the module's text.
    """

    def __init__(self, length: int) -> None:
        self._leaves = MOST_LEAVES + length
        self._bytes = MOST_BYTES + _LARGEST * length

    def spend(self, instr: Instruction) -> None:
        """Count an instruction's arrays, and the bytes of a constant.

        Raises
        ------
        HloError
            HLO020 for too many arrays, HLO003 for too many bytes.
        """
        if instr.shape.is_tuple:
            self._leaves -= instr.shape.leaf_count
            if self._leaves < 0:
                message = f"tuples whose shapes are left out hold more than {MOST_LEAVES:,} arrays"
                raise HloError("HLO020", f"{instr.opcode}: {message}", instr.span)
        elif isinstance(instr.attrs, Constant):
            self._bytes -= _bytes(instr.attrs.literal)
            if self._bytes < 0:
                message = f"constants of one element hold more than {MOST_BYTES:,} bytes"
                raise HloError("HLO003", message, instr.span)


def _bytes(literal: Literal) -> int:
    return 0 if literal.elided or literal.array is None else literal.array.nbytes
