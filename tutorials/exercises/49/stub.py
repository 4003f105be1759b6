"""Exercise 49: find an element in its panel.

A matrix is packed into panels: each has `width` columns of it, and the last one has those that are
left. The panels lie one after another. In each, the rows lie one after another, as in a matrix of
its own.

`place(row, column, rows, columns, width)` gives the place of an element. Both numbers count from 0,
and so do places.

    place(1, 2, 4, 6, 3)    5
    place(0, 4, 4, 5, 2)    16
"""


def place(row, column, rows, columns, width):
    raise NotImplementedError("not written yet")
