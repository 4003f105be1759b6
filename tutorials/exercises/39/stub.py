"""Exercise 39: count what a matrix product costs.

`dot` is an instruction. Give a pair: how many operations it does (a multiplication and an addition
are two), and how many bytes it reads and writes. `dot.attrs.lhs_contracting_dims` are the
dimensions of the left operand that are summed over; `shape.size` is the number of elements of a
shape, `shape.bytes` the number of its bytes.
"""


def dot_cost(dot):
    raise NotImplementedError("not written yet")
