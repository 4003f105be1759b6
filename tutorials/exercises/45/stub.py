"""Exercise 45: transpose by index arithmetic.

As exercise 44. Dimension i of the result is dimension `instr.attrs.dimensions[i]` of the operand;
so at which place of the operand is the element?
"""


def write_transpose(body, instr, index):
    raise NotImplementedError("not written yet")
