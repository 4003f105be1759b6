"""Exercise 50: may rows be jammed?

Two loops run over `rows` and `columns`. Each iteration loads one number and then stores one:

    for i < rows: for j < columns: x[p * i + q * j + r] = f(x[s * i + t * j + u])

`store` is (p, q, r), and `load` is (s, t, u). When `times` rows are jammed, the loops run so:

    for i0 < rows by times: for j < columns: for i0 <= i < i0 + times: the iteration of i and j

`may_jam(rows, columns, times, store, load)` says whether that keeps all values, whatever `f` is: of
two accesses to one element, one of which stores, the first one must still come first. The last
block may have fewer rows.

    may_jam(4, 3, 2, (3, 1, 0), (3, 1, 0))    True
    may_jam(4, 3, 2, (3, 1, 3), (3, 1, 1))    False
"""


def may_jam(rows, columns, times, store, load):
    raise NotImplementedError("not written yet")
