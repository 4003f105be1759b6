# message: raises AttributeError
def opcode_counts(module):
    counts = {}
    for instr in module.instructions():
        counts[instr.kind] = counts.get(instr.kind, 0) + 1
    return counts
