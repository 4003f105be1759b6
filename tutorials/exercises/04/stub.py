"""Exercise 4: read a formula, with products before sums.

`value(text, names)` gives the value of a formula of whole numbers, names, `+`, `-`, `*` and round
brackets. `names` is a dictionary with the value of each name.

    value("8 - 2 - 3", {})                 3
    value("i * 64 + j", {"i": 2, "j": 5})  133
    value("-(1 + 2) * 3", {})              -9

Products go before sums and differences, and signs of the same rank from left to right. A `-` may
also come before a value: `-x`, `2 * -3`, `--x`. Any other text, and a name that is not in `names`,
raises a ValueError. Do not use `eval`.
"""


def value(text, names):
    raise NotImplementedError("not written yet")
