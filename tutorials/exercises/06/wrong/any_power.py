# message: reciprocal_is_exact gives a wrong result
import math


def reciprocal_is_exact(c):
    """Forgets that the reciprocal of a tiny number is an infinity."""
    return bool(math.isfinite(c) and c != 0 and abs(math.frexp(c)[0]) == 0.5)
