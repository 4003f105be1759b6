# message: add(x, 0) => x does not keep BITS
PROMISES = {
    "negate(negate(x)) => x": "BITS",
    "maximum(x, x) => x": "BITS",
    "multiply(x, 1) => x": "BITS",
    "add(x, -0.0) => x": "BITS",
    "add(x, 0) => x": "BITS",
    "subtract(x, 0) => x": "BITS",
    "multiply(convert(x), y) => select(x, y, 0)": "BITS",
    "divide(x, c) => multiply(x, 1 / c)": "BITS",
    "sqrt(multiply(x, x)) => abs_(x)": "BITS",
    "power(x, 2) => multiply(x, x)": "BITS",
}
