"""Exercise 43: the sign of a number, in C.

`x` is an expression of C: a tree, not a text. Give the expression of its sign: 1 or -1, a zero of
the same sign for a zero, NaN for NaN. `binary(">", x, 0)` is x > 0, `Choose(condition, a, b)` is
condition ? a : b, `Literal(1)` is a number, and +, -, * and / make trees of trees.
"""

from codegen.expressions import Choose, Literal, binary


def write_sign(instr, x):
    raise NotImplementedError("not written yet")
