# message: evaluate_pad raises ValueError
import numpy as np


def evaluate_pad(instr, attrs, operand, value):
    """NumPy's pad crops nothing, and puts nothing between."""
    pairs = [(p.low, p.high) for p in attrs.padding]
    return np.pad(operand, pairs or 0, constant_values=value)
