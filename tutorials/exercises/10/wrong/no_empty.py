# message: users gives a wrong result
def users(computation):
    found = {}
    for instr in computation.instructions:
        for operand in dict.fromkeys(instr.operands):
            found.setdefault(operand, []).append(instr)
    return found
