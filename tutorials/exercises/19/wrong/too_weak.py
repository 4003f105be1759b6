# message: negate(negate(x)) => x keeps more than ROUNDING
PROMISES = {
    "negate(negate(x)) => x": "ROUNDING",
    "maximum(x, x) => x": "ROUNDING",
    "multiply(x, 1) => x": "ROUNDING",
    "add(x, -0.0) => x": "ROUNDING",
    "add(x, 0) => x": "ROUNDING",
    "subtract(x, 0) => x": "ROUNDING",
    "multiply(convert(x), y) => select(x, y, 0)": "ROUNDING",
    "divide(x, c) => multiply(x, 1 / c)": "ROUNDING",
    "sqrt(multiply(x, x)) => abs_(x)": "ROUNDING",
    "power(x, 2) => multiply(x, x)": "ROUNDING",
}
