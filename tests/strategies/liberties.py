"""An interpreter that is as right as ours, and chooses otherwise where XLA leaves the choice open.

Some rules change results only through what an implementation may choose: the order in which a dot
sums its terms, the last bit of a power. Whether the interpreter's results change then depends on
its BLAS and on its math library, and with them on the processor; not so with these. The order in
which elements are folded is open too, and matters to computations that are not associative.
"""

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from hlo_tools.conformance.suite import without_subnormals
from interpreter import arithmetic, collectives, contract, indexing, windows
from interpreter import fold as folds
from interpreter.custom_calls import factorizations
from interpreter.numbers import floats, integers
from interpreter.numbers.widths import narrowed, widened
from interpreter.table import evaluates


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


@contextmanager
def quotients_by_reciprocals():
    """Divide floats by multiplying with the reciprocal, which is rounded for itself."""
    whole = arithmetic.evaluate_elementwise

    def divide(instr, attrs, x, y):
        kind = instr.shape.element_type
        if not kind.is_floating:
            return whole(instr, attrs, x, y)
        with np.errstate(all="ignore"):
            reciprocal = narrowed(1 / widened(y), kind)
            return narrowed(widened(x) * widened(reciprocal), kind)

    with patch.dict(evaluates.entries, divide=divide):
        yield


@contextmanager
def subnormals_flushed():
    """Take zeros for subnormal numbers, as an operand and as a result."""

    def other(compute):
        def function(*values):
            made = compute(*map(without_subnormals, values))
            return made if made.dtype == bool else without_subnormals(made)

        return function

    functions = {name: other(compute) for name, compute in floats.FLOATS.items()}
    with patch.dict(floats.FLOATS, functions):
        yield


@contextmanager
def failures_of_lapack_unlike():
    """Leave NaN where LAPACK tells of no factors: what it leaves depends on its blocks."""

    def call(routine, *arguments):
        info = lapack(routine, *arguments)
        for array in arguments if info else ():
            if isinstance(array, np.ndarray):
                array.fill(-1 if array.dtype.kind in "iu" else np.nan)
        return info

    lapack = factorizations.lapack
    with patch.object(factorizations, "lapack", call):
        yield


@contextmanager
def counters_saturated():
    """Keep sums of integers in the range of their type, instead of letting them wrap around."""

    def add(x, y):
        made = x + y
        signed = np.issubdtype(made.dtype, np.signedinteger)
        over = ((x < 0) == (y < 0)) & ((made < 0) != (x < 0)) if signed else made < x
        ends = np.iinfo(made.dtype)
        return np.where(over, np.where(x < 0, ends.min, ends.max).astype(made.dtype), made)

    with patch.dict(integers.INTEGERS, add=add):
        yield


@contextmanager
def zeros_counted_in_64_bits():
    """Count the leading zeros of negative numbers as if they had been widened to 64 bits."""

    def count(instr, attrs, x):
        return np.where(x < 0, instr.shape.element_type.bits - 64, whole(instr, attrs, x))

    whole = evaluates.entries["count-leading-zeros"]
    with patch.dict(evaluates.entries, {"count-leading-zeros": count}):
        yield


@contextmanager
def initial_values_unlike():
    """Take the initial value of a fold twice, or leave it out where nothing is folded."""
    whole = evaluates.entries["reduce"]

    def reduce(frame, instr, attrs, *operands):
        half = len(operands) // 2
        arrays, initials = operands[:half], operands[half:]
        if not attrs.dimensions:
            return tuple(arrays) if instr.shape.is_tuple else arrays[0]
        at = attrs.dimensions[0]
        dims = [1 if d == at else n for d, n in enumerate(arrays[0].shape)]
        pairs = zip(arrays, initials, strict=True)
        longer = [np.concatenate([a, np.broadcast_to(i, dims)], at) for a, i in pairs]
        return whole(frame, instr, attrs, *longer, *initials)

    with patch.dict(evaluates.entries, reduce=reduce):
        yield


@contextmanager
def folds_from_the_end():
    """Fold elements, windows, updates and devices from the last to the first."""
    in_order, combine, gather = windows._fold_in_order, indexing.combine_at, collectives._gathered
    offsets = windows.offsets_of

    def fold_pairs(_frame, _computation, rows):
        return [row[::-1] for row in rows]

    def fold_windows(*arguments):
        with patch.object(windows, "offsets_of", lambda *a: reversed(list(offsets(*a)))):
            return in_order(*arguments)

    def combine_at(frame, computation, arrays, places, updates):
        turned = [update[::-1] for update in updates]
        return combine(frame, computation, arrays, places[::-1], turned)

    def gathered(*arguments):
        columns, place = gather(*arguments)
        return [column[::-1] for column in columns], place

    def summed(*arguments):
        with patch.object(collectives, "_gathered", gathered):
            return true_summed(*arguments)

    true_summed = collectives._summed
    with (
        patch.object(folds, "IN_ORDER", 0),
        patch.object(folds, "_fold_pairs", fold_pairs),
        patch.object(windows, "_fold_in_order", fold_windows),
        patch.object(windows, "combine_at", combine_at),
        patch.object(indexing, "combine_at", combine_at),
        patch.object(collectives, "_summed", summed),
    ):
        yield


@contextmanager
def folds_in_pairs():
    """Fold few elements in pairs of neighbours, and many one after the other."""
    true_pairs, most = folds._fold_pairs, folds.IN_ORDER

    def fold_pairs(frame, computation, rows):
        return rows if len(rows[0]) > most else true_pairs(frame, computation, rows)

    with patch.object(folds, "IN_ORDER", 0), patch.object(folds, "_fold_pairs", fold_pairs):
        yield
