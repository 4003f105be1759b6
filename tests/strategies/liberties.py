"""A dot and a power that are as right as the interpreter's, but round where XLA leaves it open.

Some rules change results only through what an implementation may choose: the order in which a dot
sums its terms, the last bit of a power. Whether the interpreter's results change then depends on
its BLAS and on its math library, and with them on the processor; not so with these.
"""

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from interpreter import contract
from interpreter.numbers import floats
from interpreter.numbers.widths import narrowed, widened


def product_by_diagonals(lhs, rhs, result):
    """Products of matrices whose row i sums its terms from term i on, and the first ones at last.

    The rows are the lhs's: an exchange of the operands changes the order of the sums.
    """
    rows, depth = lhs.shape[-2:]
    lhs, rhs = widened(lhs), widened(rhs)
    row = np.arange(rows)
    total = np.zeros((*lhs.shape[:-1], rhs.shape[-1]), np.result_type(lhs, rhs))
    for step in range(depth):
        term = (row + step) % depth
        total += lhs[..., row, term, np.newaxis] * rhs[..., term, :]
    return narrowed(total, result)


def power_one_below(x, y):
    """Powers, each one ULP nearer to 0 than the interpreter's."""
    return np.nextafter(floats.power(x, y), np.zeros_like(x))


@contextmanager
def signs_of_nan(changed=True):
    """Let what the interpreter computes be NaN of the other sign, which nothing defines."""

    def other(compute):
        def function(*values):
            made = compute(*values)
            if made.dtype == bool:
                return made
            return np.where(np.isnan(made), np.negative(made), made)

        return function

    functions = {name: other(compute) for name, compute in floats.FLOATS.items()}
    with patch.dict(floats.FLOATS, functions if changed else {}):
        yield


@contextmanager
def liberties():
    """Let the interpreter take these liberties for a while."""
    with (
        patch.object(contract, "matrix_product", product_by_diagonals),
        patch.dict(floats.FLOATS, power=power_one_below),
    ):
        yield
