"""Exercise 42: pack arrays into memory.

A block has a `size` in bytes and `spans`, the moments at which it is needed: [(2, 5), (8, 9)] is
from 2 to 5, and from 8 to 9. `block.meets(other)` says whether two blocks are needed at the same
moment; they must not share a byte then. Offsets need not be aligned.

Give a list of offsets, one a block, and the size of the whole memory. It may be at most 1.3 times
as large as by the project's own packing.
"""


def pack(blocks):
    raise NotImplementedError("not written yet")
