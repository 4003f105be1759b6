# message: bytes where
FREE = ("broadcast", "reshape", "transpose", "slice", "reverse", "iota", "constant")


def fits(instr):
    return instr.row.elementwise or instr.opcode in FREE


def groups(computation):
    """Each with its operands, and no further."""
    return [
        [*[o for o in dict.fromkeys(i.operands) if fits(o)], i]
        for i in computation.instructions
        if (fits(i) or i.opcode == "reduce") and any(fits(o) for o in i.operands)
    ]
