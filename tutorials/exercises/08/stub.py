"""Exercise 8: read the attribute of a slice.

    read_slice("{[0:4:2], [1:3]}")  is  [(0, 4, 2), (1, 3, 1)]

Each dimension has a start, a limit and a stride, which is 1 if it is left out. There may be blanks
between any two words. Raise ValueError where the text is of another form.
"""


def read_slice(text):
    raise NotImplementedError("not written yet")
