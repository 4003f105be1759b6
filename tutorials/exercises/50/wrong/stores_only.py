# message: may_jam gives a wrong result
def may_jam(rows, columns, times, store, load):
    """Only the last store to each element counts."""
    (p, q, r), last, jammed = store, {}, {}
    for i in range(rows):
        for j in range(columns):
            last[p * i + q * j + r] = i, j
    for first in range(0, rows, times):
        for j in range(columns):
            for i in range(first, min(first + times, rows)):
                jammed[p * i + q * j + r] = i, j
    return last == jammed
