# message: dot_cost gives a wrong result
from math import prod


def dot_cost(dot):
    """Counts the multiplications only."""
    lhs, rhs = dot.operands
    summed = prod(lhs.shape.dims[d] for d in dot.attrs.lhs_contracting_dims)
    return dot.shape.size * summed, lhs.shape.bytes + rhs.shape.bytes + dot.shape.bytes
