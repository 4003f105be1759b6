"""Exercise 71: a plan that moves fewer bytes.

A program is a list of layers, each of which can be cut in some ways, 0, 1, ... `work[layer][cut]`
are the bytes that devices exchange inside of a layer that is cut so, `moves[a][b]` those between a
layer that is cut as `a` and the next one, cut as `b`. Give the cut of each layer, so that the
devices exchange as few bytes as can be.
"""


def plan(work, moves):
    raise NotImplementedError("not written yet")
