"""Exercise 64: the tangent of an opcode.

`x`, `y` and `dx` are instructions, each a number: y = logistic(x) = 1 / (1 + exp(-x)), and `dx` is
a small change of x. Give the instruction for the change of y. Operators build instructions:
`1 - x * y` is a subtract of a multiply.
"""


def logistic_tangent(x, y, dx):
    raise NotImplementedError("not written yet")
