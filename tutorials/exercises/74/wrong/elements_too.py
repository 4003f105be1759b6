# message: must_be_constant gives a wrong result
def must_be_constant(arguments, steps):
    needed = set()
    for name, opcode, operands in reversed(steps):
        if opcode == "resize" or (name in needed and opcode == "add"):
            needed.update(operands)
    return [name for name in arguments if name in needed]
