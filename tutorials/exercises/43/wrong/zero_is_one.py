# message: write_sign: the C gives another value
from codegen.expressions import Choose, Literal, binary


def write_sign(instr, x):
    return Choose(binary("<", x, 0), Literal(-1), Literal(1))
