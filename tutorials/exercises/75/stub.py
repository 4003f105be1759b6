"""Exercise 75: fewer clusters.

`operations` are tuples in order: a name, the names of operands, and whether the operation can be
compiled. Give a number for each. Compiled operations of number n are cluster n, which is run as a
whole; then Python runs its own operations of number n. So a compiled operation has a larger number
than each of Python's that it needs, and no smaller one than each other that it needs. Python's
operations have no smaller numbers than all that they need, and than Python's before them, whose
order is kept. Numbers may be negative. As few clusters as can be are compiled.
"""


def clusters(operations):
    raise NotImplementedError("not written yet")
