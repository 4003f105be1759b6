# message: dot_cost
def dot_cost(dot):
    """It need not be the last dimension that is summed over."""
    lhs, rhs = dot.operands
    flops = 2 * dot.shape.size * (lhs.shape.dims[-1] if lhs.shape.dims else 1)
    return flops, lhs.shape.bytes + rhs.shape.bytes + dot.shape.bytes
