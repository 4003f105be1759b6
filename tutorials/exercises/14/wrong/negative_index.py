# message: evaluate_pad gives another value
import numpy as np


def evaluate_pad(instr, attrs, operand, value):
    """A negative index of NumPy counts from the end."""
    result = np.full(instr.shape.dims, value, operand.dtype)
    for index in np.ndindex(operand.shape):
        pairs = zip(index, attrs.padding, strict=True)
        place = tuple(p.low + i * (p.interior + 1) for i, p in pairs)
        if all(i < n for i, n in zip(place, result.shape, strict=True)):
            try:
                result[place] = operand[index]
            except IndexError:
                continue
    return result
