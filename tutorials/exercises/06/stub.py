"""Exercise 6: find the users of every instruction.

Give a dictionary: each instruction of the computation, and the list of those that have it among
their operands, in order. Who uses one instruction twice is named once. Whom nobody uses has an
empty list.
"""


def users(computation):
    raise NotImplementedError("not written yet")
