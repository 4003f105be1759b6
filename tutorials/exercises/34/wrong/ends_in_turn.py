# message: interval gives a wrong result
def interval(opcode, first, second):
    (a, b), (c, d) = first, second
    low, high = {
        "add": (a + c, b + d),
        "subtract": (a - c, b - d),
        "multiply": (a * c, b * d),
        "maximum": (max(a, c), max(b, d)),
        "minimum": (min(a, c), min(b, d)),
    }[opcode]
    return (low, high) if -128 <= low <= high <= 127 else (-128, 127)
