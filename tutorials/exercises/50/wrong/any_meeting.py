# message: may_jam gives a wrong result
def may_jam(rows, columns, times, store, load):
    """No two rows of a block may have an element in common."""

    def places(i, access):
        p, q, r = access
        return {p * i + q * j + r for j in range(columns)}

    return not any(
        i != k and places(i, store) & (places(k, store) | places(k, load))
        for first in range(0, rows, times)
        for i in range(first, min(first + times, rows))
        for k in range(first, min(first + times, rows))
    )
