"""Exercise 74: arguments that must be constant.

`arguments` are names, and `steps` are tuples of a name, an opcode and operands' names, in order:

    ("v0", "add", ("a", "b"))       the sum
    ("v1", "resize", ("v0", "n"))   the elements of v0 in an array whose size is the value of n
    ("v2", "size", ("v1",))         the size of v1, which a compiler knows

A compiler must know all sizes. Give the arguments whose values it needs for them.
"""


def must_be_constant(arguments, steps):
    raise NotImplementedError("not written yet")
