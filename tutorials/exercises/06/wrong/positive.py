# message: reciprocal_is_exact gives a wrong result
import numpy as np


def reciprocal_is_exact(c):
    """-2 is as good as 2."""
    with np.errstate(all="ignore"):
        return bool(c > 0 and np.isfinite(1 / c) and np.frexp(c)[0] == 0.5)
