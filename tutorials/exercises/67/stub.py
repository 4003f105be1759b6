"""Exercise 67: keep fewer states.

A loop of `trips` iterations runs backwards, and needs the state before each. It keeps only one in
`distance`, and computes the others again, from a kept one to the next. So it holds
ceil(trips / distance) kept states, and `distance` more at a time. Give the distance, 1 to `trips`,
for which it holds the fewest.
"""


def distance(trips):
    raise NotImplementedError("not written yet")
