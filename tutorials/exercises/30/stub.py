"""Exercise 30: pack arrays into memory.

Give a list of offsets, one a block, and the size of the whole memory. Two blocks that are needed at
the same moment (`block.meets(other)`) must not share a byte. The whole memory may be at most 1.3
times as large as by the project's own packing.
"""


def pack(blocks):
    raise NotImplementedError("not written yet")
