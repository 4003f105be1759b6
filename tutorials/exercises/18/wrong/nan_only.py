# message: same_bits gives a wrong result
import numpy as np


def same_bits(x, y):
    """-0 is equal to 0."""
    return x.dtype == y.dtype and x.shape == y.shape and bool(np.array_equal(x, y, equal_nan=True))
