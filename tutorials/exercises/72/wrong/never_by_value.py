# message: signature gives a wrong result
import numpy as np


def signature(arguments, constants):
    return tuple(
        (a.dtype, a.shape) if isinstance(a, np.ndarray) else (type(a), a) for a in arguments
    )
