# message: divide gives a wrong result
import numpy as np


def divide(x, y):
    """NumPy gives 0 for a division by zero."""
    with np.errstate(all="ignore"):
        return ((x - np.fmod(x, y)) // y).astype(np.int32)
