# message: maximum gives a wrong result
import numpy as np


def maximum(x, y):
    return np.where(x > y, x, y)
