"""Exercise 46: concatenate by index arithmetic.

`instr.attrs.dimensions[0]` is the dimension along which the operands lie one after the other.
`chosen(body, instr, cases)` gives the element of the first case whose condition holds; a case is
(condition, operand, index), and the last one's condition may be None.
`body.holds([Within(index[d], low, end)])` is the condition low <= index[d] < end, or None where
that is always so.
"""

from codegen.opcodes.movement import chosen
from optimizer.analysis.indexing import Within


def write_concatenate(body, instr, index):
    raise NotImplementedError("not written yet")
