"""Exercise 72: one program or two?

`arguments` are those of a call: arrays of NumPy, and objects of Python: numbers, texts, None.
`constants` are the numbers of the arguments whose values must be constant. Give a key of the call
for a dictionary of programs: two calls have equal keys if one program can run both, and no others.
"""

import numpy as np


def signature(arguments, constants):
    raise NotImplementedError("not written yet")
