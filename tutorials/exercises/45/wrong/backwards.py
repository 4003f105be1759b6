# message: write_transpose: the C gives another value
def write_transpose(body, instr, index):
    return body.element(instr.operands[0], index[::-1])
