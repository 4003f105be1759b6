# message: write_reverse: the C gives another value
def write_reverse(body, instr, index):
    dims = instr.shape.dims
    return body.element(
        instr.operands[0], tuple(i * -1 + (dims[d] - 1) for d, i in enumerate(index))
    )
