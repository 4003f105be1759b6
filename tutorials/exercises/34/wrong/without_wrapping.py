# message: interval gives a wrong result
def interval(opcode, first, second):
    (a, b), (c, d) = first, second
    products = [a * c, a * d, b * c, b * d]
    low, high = {
        "add": (a + c, b + d),
        "subtract": (a - d, b - c),
        "multiply": (min(products), max(products)),
        "maximum": (max(a, c), max(b, d)),
        "minimum": (min(a, c), min(b, d)),
    }[opcode]
    return max(low, -128), min(high, 127)
