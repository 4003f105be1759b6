# message: results_stay gives a wrong result
import numpy as np


def results_stay(call, first, second):
    before = call(first)
    call(second)
    return np.array_equal(before, before)
