"""Exercise 5: count the opcodes of a module.

`module.instructions()` gives every instruction of every computation. Each has an `opcode`.
Give a dictionary from opcodes to how often they occur.
"""


def opcode_counts(module):
    raise NotImplementedError("not written yet")
