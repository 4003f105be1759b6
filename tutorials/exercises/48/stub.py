"""Exercise 48: the roofline of a product.

A matrix of `rows` rows and `inner` columns is multiplied by one of `inner` rows and `columns`
columns. All numbers are f32, of four bytes each. Each operand is read from memory once, and the
result is written once. A multiplication is an operation, and an addition is another one.

`least_seconds(rows, inner, columns, bytes_per_second, flops_per_second)` gives the least time that
a machine needs. It moves memory and computes at the same time.

    least_seconds(100, 100, 100, 1e9, 1e9)     0.002
    least_seconds(1000, 1, 1000, 1e9, 1e11)    0.004008
"""


def least_seconds(rows, inner, columns, bytes_per_second, flops_per_second):
    raise NotImplementedError("not written yet")
