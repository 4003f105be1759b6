"""Exercise 58: from f32 to s8.

Give the numbers of `x`, an array of f32, as s8: cut off to whole numbers, those beyond the range of
s8 become its ends, and NaN becomes 0.
"""

import numpy as np


def to_s8(x):
    raise NotImplementedError("not written yet")
