# message: maximum gives a wrong result
import numpy as np


def maximum(x, y):
    return np.where((x == 0) & (y == 0), x + y, np.fmax(x, y))
