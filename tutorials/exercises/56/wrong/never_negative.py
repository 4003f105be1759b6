# message: maximum gives a wrong result
import numpy as np


def maximum(x, y):
    return np.where((x == 0) & (y == 0), np.float32(0), np.maximum(x, y))
