"""Exercise 66: go backwards through a graph.

`graph` has the operands of each value by its name, in an order in which operands come first;
parameters have none. The cotangent of `root` is 1. `hand_back(name, cotangent)` gives, for a value
and its cotangent, the parts of its operands, in their order. Give the cotangents of all values: a
dictionary, with 0 for those that the root does not depend on.
"""


def cotangents(graph, root, hand_back):
    raise NotImplementedError("not written yet")
