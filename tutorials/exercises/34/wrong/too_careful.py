# message: interval is too large
def interval(opcode, first, second):
    (a, b), (c, d) = first, second
    if opcode in ("maximum", "minimum"):
        return min(a, c), max(b, d)
    products = [a * c, a * d, b * c, b * d]
    low, high = {
        "add": (a + c, b + d),
        "subtract": (a - d, b - c),
        "multiply": (min(products), max(products)),
    }[opcode]
    return (low, high) if -128 <= low <= high <= 127 else (-128, 127)
