# message: write_sign: the C gives another value
from codegen.expressions import Choose, Literal, binary


def write_sign(instr, x):
    """Right for integers; floats have two zeros."""
    return binary(">", x, 0) - binary("<", x, 0)
