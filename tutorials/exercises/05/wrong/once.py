# message: opcode_counts gives a wrong result
def opcode_counts(module):
    """Says which opcodes there are, not how many."""
    return {instr.opcode: 1 for instr in module.instructions()}
