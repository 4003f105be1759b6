"""Exercise 33: a solver.

`solve(nodes, transfer, readers, first)` gives a dictionary: a fact for each node.

    nodes     a list
    transfer  `transfer(node, facts)` computes a node's fact from the facts of all nodes so far
    readers   readers[node] is the list of nodes whose facts are computed from this node's
    first     the fact of every node at the beginning

In the end, `transfer` must give each node the fact that it has. Compute a fact again only if it may
have changed.
"""


def solve(nodes, transfer, readers, first):
    raise NotImplementedError("not written yet")
