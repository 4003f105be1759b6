"""Exercise 56: the larger of two numbers.

`x` and `y` are arrays of f32 of one shape. Give HLO's maximum of them, in NumPy: NaN where
either is NaN, and of two zeros the positive one, if there is one.
"""

import numpy as np


def maximum(x, y):
    raise NotImplementedError("not written yet")
