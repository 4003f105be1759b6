# message: users gives a wrong result
def users(computation):
    found = {i: [] for i in computation.instructions}
    for instr in computation.instructions:
        for operand in instr.operands:
            found[operand].append(instr)
    return found
