# message: write_sign: the C gives another value
from codegen.expressions import Choose, Literal, binary


def write_sign(instr, x):
    """NaN is neither greater nor less."""
    return Choose(binary(">", x, 0), Literal(1), Choose(binary("<", x, 0), Literal(-1), Literal(0)))
