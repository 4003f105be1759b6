# message: signature gives a wrong result
import numpy as np


def signature(arguments, constants):
    return tuple(
        ((a.dtype, a.shape) if n not in constants else repr(a)) if isinstance(a, np.ndarray) else a
        for n, a in enumerate(arguments)
    )
