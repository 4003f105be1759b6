# message: results_stay gives a wrong result
import numpy as np


def results_stay(call, first, second):
    result = call(first)
    before = result.copy()
    call(first)
    return np.array_equal(result, before)
