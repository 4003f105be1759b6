# message: divide gives a wrong result
import numpy as np


def divide(x, y):
    """f32 has 24 bits: too few for an s32."""
    with np.errstate(all="ignore"):
        quotient = np.trunc(x.astype(np.float32) / y.astype(np.float32))
        return np.where(y == 0, -1, quotient).astype(np.int32)
