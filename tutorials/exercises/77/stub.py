"""Exercise 77: give an opcode everything.

The opcode is `sign`: 1, -1 or 0, of integers and floats; of a float zero, that very zero, and of
NaN, NaN. Give the shape of the result, its value, and the C of one element. `x` is an array in the
second function, and an expression of C in the third (see exercise 43), where it is an f32.
"""

import numpy as np

from codegen.expressions import Choose, Literal, binary


def infer_sign(instr, attrs, operand):
    raise NotImplementedError("not written yet")


def evaluate_sign(instr, attrs, x):
    raise NotImplementedError("not written yet")


def write_sign(instr, x):
    raise NotImplementedError("not written yet")
