# message: evaluate_sign gives another value
import numpy as np

from codegen.expressions import Choose, Literal, binary


def infer_sign(instr, attrs, operand):
    return operand


def evaluate_sign(instr, attrs, x):
    return np.where(x < 0, x.dtype.type(-1), x.dtype.type(1))


def write_sign(instr, x):
    return Choose(binary("<", x, 0), Literal(-1), Literal(1))
