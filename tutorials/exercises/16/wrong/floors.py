# message: divide gives a wrong result
import numpy as np


def divide(x, y):
    """Python and NumPy round down: -7 // 2 is -4."""
    with np.errstate(all="ignore"):
        return np.where(y == 0, np.int32(-1), x // np.where(y == 0, 1, y)).astype(np.int32)
