# message: evaluate_pad gives another value
import numpy as np


def evaluate_pad(instr, attrs, operand, value):
    result = np.full(instr.shape.dims, value, operand.dtype)
    for index in np.ndindex(operand.shape):
        place = tuple(i + p.low for i, p in zip(index, attrs.padding, strict=True))
        if all(0 <= i < n for i, n in zip(place, result.shape, strict=True)):
            result[place] = operand[index]
    return result
