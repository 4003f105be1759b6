# message: evaluate_gather gives another value
import numpy as np


def evaluate_gather(instr, attrs, operand, indices):
    return np.zeros(instr.shape.dims, operand.dtype)
