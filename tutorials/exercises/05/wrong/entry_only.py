# message: opcode_counts gives a wrong result
def opcode_counts(module):
    """Forgets the computations that the entry calls."""
    counts = {}
    for instr in module.entry.instructions:
        counts[instr.opcode] = counts.get(instr.opcode, 0) + 1
    return counts
