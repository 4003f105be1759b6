# message: must_be_constant gives a wrong result
def must_be_constant(arguments, steps):
    sizes = {operands[1] for _, opcode, operands in steps if opcode == "resize"}
    return [name for name in arguments if name in sizes]
