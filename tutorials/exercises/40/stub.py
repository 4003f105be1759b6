"""Exercise 40: plan a fusion.

Give a list of groups. A group is a list of instructions that one loop nest computes; its last one
is what it yields, and every other one is used by another of the group. An instruction may be in
several groups: each computes it anew. In a group may be what is elementwise
(`instr.row.elementwise`), what moves elements (broadcast, reshape, transpose, slice, ...), a
constant, and one reduce, as its last. No two groups end with the same instruction.

What a group reads and yields goes through memory; what is computed inside does not. Move no more
bytes than the project's own fusion does.
"""


def groups(computation):
    raise NotImplementedError("not written yet")
