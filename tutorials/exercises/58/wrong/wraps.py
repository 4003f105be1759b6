# message: to_s8 gives a wrong result
import numpy as np


def to_s8(x):
    return np.nan_to_num(x, posinf=127, neginf=-128).astype(np.int64).astype(np.int8)
