# message: write_reverse: the C gives another value
def write_reverse(body, instr, index):
    return body.element(instr.operands[0], index)
