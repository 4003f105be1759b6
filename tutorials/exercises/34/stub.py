"""Exercise 34: intervals that wrap around.

All that is known of two numbers of type s8, from -128 to 127, is an interval for each: (low, high).
Both ends belong to it. `interval(opcode, first, second)` gives the interval of

    "add", "subtract", "multiply", "maximum" or "minimum"

as small as it can be. A result that leaves s8 wraps around: 127 + 1 is -128. If any result does,
give (-128, 127).
"""


def interval(opcode, first, second):
    raise NotImplementedError("not written yet")
