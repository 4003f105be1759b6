"""Exercise 55: the best order of a chain of products.

A matrix of n rows and k columns times one of k rows and m columns takes n * k * m multiplications.
`sizes` has the rows of the first matrix of a chain, and the columns of each: [n, k, m] are two
matrices. The product of a chain can be computed in many orders, and all give the same.

`least_work(sizes)` gives the number of multiplications of the best order. It must be fast for
chains of 40 matrices, too.

    least_work([64, 64, 64, 4])    32768
    least_work([8, 2])             0
"""


def least_work(sizes):
    raise NotImplementedError("not written yet")
