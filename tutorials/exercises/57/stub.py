"""Exercise 57: broadcast in any order.

Dimension k of `x` becomes dimension `dimensions[k]` of the result, whose sizes are `dims`; along
all others, `x` is repeated. The numbers in `dimensions` differ, and need not ascend. Give the
result, as NumPy computes it.
"""

import numpy as np


def broadcast(x, dims, dimensions):
    raise NotImplementedError("not written yet")
