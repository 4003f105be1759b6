"""Exercise 10: find the users of every instruction.

Give a dictionary: each instruction of the computation, and the list of those that have it among
their operands, in order. A user that has an instruction as two operands is in its list once. The
list of an instruction without users is empty.
"""


def users(computation):
    raise NotImplementedError("not written yet")
