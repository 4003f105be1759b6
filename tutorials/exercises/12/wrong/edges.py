# message: depth gives a wrong result
def depth(computation):
    """Counts the steps, not the instructions."""
    below = {}
    for instr in computation.instructions:
        below[instr] = max((below[o] + 1 for o in instr.operands), default=0)
    return max(below.values())
