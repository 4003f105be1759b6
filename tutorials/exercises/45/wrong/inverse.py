# message: write_transpose: the C gives another value
def write_transpose(body, instr, index):
    """That is the other way round; of two dimensions, it is the same."""
    return body.element(instr.operands[0], tuple(index[d] for d in instr.attrs.dimensions))
