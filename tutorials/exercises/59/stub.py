"""Exercise 59: do results stay?

`call` is a compiled module: it takes an array, and gives an array. Some backends use the memory of
their results again, so that a later call changes an earlier result. Give True if results stay as
they are. `first` and `second` are arguments with different results; `call` may be called as
often as you like.
"""

import numpy as np


def results_stay(call, first, second):
    raise NotImplementedError("not written yet")
