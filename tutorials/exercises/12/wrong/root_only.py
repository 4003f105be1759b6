# message: depth gives a wrong result
def depth(computation):
    """What the root does not need counts, too."""
    below = {}
    for instr in computation.instructions:
        below[instr] = 1 + max((below[o] for o in instr.operands), default=0)
    return below[computation.root]
