# message: signature gives a wrong result
import numpy as np


def signature(arguments, constants):
    return tuple(
        a.shape if isinstance(a, np.ndarray) and n not in constants else repr(a)
        for n, a in enumerate(arguments)
    )
