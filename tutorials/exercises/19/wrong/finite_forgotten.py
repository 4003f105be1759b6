# message: does not keep ZERO_SIGN
PROMISES = {
    "negate(negate(x)) => x": "BITS",
    "maximum(x, x) => x": "BITS",
    "multiply(x, 1) => x": "BITS",
    "add(x, -0.0) => x": "BITS",
    "add(x, 0) => x": "ZERO_SIGN",
    "subtract(x, 0) => x": "ZERO_SIGN",
    "multiply(convert(x), y) => select(x, y, 0)": "ZERO_SIGN",
    "divide(x, c) => multiply(x, 1 / c)": "ROUNDING",
    "sqrt(multiply(x, x)) => abs_(x)": "ROUNDING",
    "power(x, 2) => multiply(x, x)": "ROUNDING",
}
