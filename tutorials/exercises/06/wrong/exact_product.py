# message: reciprocal_is_exact gives a wrong result
import numpy as np


def reciprocal_is_exact(c):
    """3 * (1 / 3) rounds to 1 as well."""
    with np.errstate(all="ignore"):
        return bool(c * (np.float32(1) / c) == 1)
