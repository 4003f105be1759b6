# message: write_sign: the C gives another value
import numpy as np

from codegen.expressions import Choose, Literal, binary


def infer_sign(instr, attrs, operand):
    return operand


def evaluate_sign(instr, attrs, x):
    return np.sign(x) if x.dtype.kind in "iu" else np.where(x == 0, x, np.sign(x))


def write_sign(instr, x):
    return binary(">", x, 0) - binary("<", x, 0)
