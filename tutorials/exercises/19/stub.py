"""Exercise 19: give rules their promises.

Each rule below keeps values as exactly as a promise says. From strong to weak:

    BITS        every bit, NaN apart
    ZERO_SIGN   a zero may change its sign
    FINITE      and what is NaN or infinite may be anything
    ROUNDING    and the last digits may differ

Write down the strongest promise that each keeps. In the seventh rule, x is of type pred.
"""

PROMISES = {
    "negate(negate(x)) => x": "",
    "maximum(x, x) => x": "",
    "multiply(x, 1) => x": "",
    "add(x, -0.0) => x": "",
    "add(x, 0) => x": "",
    "subtract(x, 0) => x": "",
    "multiply(convert(x), y) => select(x, y, 0)": "",
    "divide(x, c) => multiply(x, 1 / c)": "",
    "sqrt(multiply(x, x)) => abs_(x)": "",
    "power(x, 2) => multiply(x, x)": "",
}
