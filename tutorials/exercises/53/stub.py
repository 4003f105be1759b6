"""Exercise 53: draw conclusions from equal operands.

A node is an opcode and the numbers of its operands: ("add", 0, 1). `nodes` is a list of them, and
`equal` a list of pairs of numbers of nodes that are equal. Nodes with the same opcode whose
operands are equal, one by one, are equal, too.

`closure(nodes, equal)` gives, for each node, the least number of those that it is equal to; itself
counts.

    nodes = [("x",), ("y",), ("negate", 0), ("negate", 1), ("add", 2, 3)]
    closure(nodes, [(0, 1)])    [0, 0, 2, 2, 4]
"""


def closure(nodes, equal):
    raise NotImplementedError("not written yet")
