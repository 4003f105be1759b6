"""Exercise 12: measure the longest chain.

Give how many instructions the longest chain of a computation has, in which each is an operand of
the next. Instructions come after their operands: one sweep will do.
"""


def depth(computation):
    raise NotImplementedError("not written yet")
