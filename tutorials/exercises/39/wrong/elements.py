# message: dot_cost gives a wrong result
from math import prod


def dot_cost(dot):
    """Elements are not bytes."""
    lhs, rhs = dot.operands
    summed = prod(lhs.shape.dims[d] for d in dot.attrs.lhs_contracting_dims)
    return 2 * dot.shape.size * summed, lhs.shape.size + rhs.shape.size + dot.shape.size
