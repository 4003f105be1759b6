"""Opcodes that apply a computation over and over: reduce, scan and map.

A computation that is one known operation, such as an addition, is a NumPy reduction. Any other is
lifted to arrays (see `interpreter.lift`). XLA leaves the order of a reduction open, and expects an
associative computation; so many elements are folded in pairs of neighbours until one is left,
which takes n of them log2(n) rounds. Few are folded one after the other, as XLA's evaluator does:
then also a computation that is not associative means what its author saw it do.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.monoid import monoid_of
from interpreter.folded import UFUNCS, decode, encode, encoded_identity
from interpreter.lift import as_tuple, lifted
from interpreter.numbers.widths import narrowed, type_of, widened
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hlo import attributes as a
    from hlo.instruction import Computation, Instruction
    from hlo.monoid import Monoid
    from interpreter.engine.frame import Frame

    Array = NDArray[Any]

# So many elements are folded one after the other, more in pairs.
IN_ORDER = 128


@evaluates("map", xla="Map")
def evaluate_map(frame: Frame, instr: Instruction, _attrs: a.Map, *operands: Array) -> Array:
    """Apply a computation of scalars to the elements at each index.

    Parameters
    ----------
    operands : arrays of one shape, one a parameter of the computation.
    """
    return lifted(frame, instr.called[0], *operands)[0]


@evaluates("reduce", xla="Reduce")
def evaluate_reduce(
    frame: Frame, instr: Instruction, attrs: a.Dimensions, *operands: Array
) -> Array | tuple[Array, ...]:
    """Fold dimensions of arrays with a computation.

    Parameters
    ----------
    operands : n arrays of one shape, then n initial values of shape ().

    Returns
    -------
    Array or tuple of Array
        the operands' shape without the reduced dimensions; one array, or a tuple of n. Where
        nothing is folded, the initial values.
    """
    half = len(operands) // 2
    arrays, initials = operands[:half], operands[half:]
    results = fold(frame, instr.called[0], arrays, initials, attrs.dimensions)
    return results if instr.shape.is_tuple else results[0]


def fold(
    frame: Frame,
    computation: Computation,
    arrays: Sequence[Array],
    initials: Sequence[Array],
    axes: tuple[int, ...],
) -> tuple[Array, ...]:
    """Fold axes of arrays of one shape: reduce, and the part of other opcodes that reduces."""
    shape = arrays[0].shape
    dims = [n for axis, n in enumerate(shape) if axis not in axes]
    if any(shape[axis] == 0 for axis in axes):
        return tuple(np.broadcast_to(initial, dims) for initial in initials)
    if (monoid := monoid_of(computation)) is not None:
        return (_fold_known(monoid, arrays[0], initials[0], axes),)
    # The folded axes become one, the first.
    front = range(len(axes))
    count = prod(shape[axis] for axis in axes)
    rows = [np.moveaxis(x, sorted(axes), front).reshape(count, *dims) for x in arrays]
    if len(rows[0]) > IN_ORDER:
        rows = _fold_pairs(frame, computation, rows)
    results = tuple(np.broadcast_to(initial, dims) for initial in initials)
    for elements in zip(*rows, strict=True):
        results = lifted(frame, computation, *results, *elements)
    return results


def _fold_known(monoid: Monoid, array: Array, initial: Array, axes: tuple[int, ...]) -> Array:
    element_type, combine = type_of(array), UFUNCS[monoid.opcode]
    if monoid.compares and element_type.is_floating:
        extreme = combine.reduce(widened(array), axis=axes)
        result = combine(widened(initial), extreme)
        # Encoding is slow, and needed only to tell zeros apart.
        if not np.any(result == 0):
            return narrowed(result, element_type)
    numbers, first = encode(monoid, array), encode(monoid, initial)
    if monoid.opcode == "add" and numbers.dtype.kind in "fc":
        numbers = added_in_pairs(numbers, axes)
    # NumPy adds in an order that follows the strides: equal values must give an equal sum.
    numbers = np.asarray(numbers, order="C")
    # NumPy's sums begin with 0, which would make 0 of sums of -0.
    identity = encoded_identity(monoid, numbers.dtype)
    total = combine.reduce(numbers, axis=axes, dtype=numbers.dtype, initial=identity)
    return decode(monoid, combine(first, total), element_type)


def added_in_pairs(numbers: Array, axes: tuple[int, ...]) -> Array:
    """Add up, in pairs, long axes along which NumPy adds one number after the other.

    The error of n numbers that are added one after the other grows with n, and with log2(n) where
    they are added in pairs. NumPy does that along the last axes only, if no other follows.

    Returns
    -------
    Array
        of size 1 along such axes of the given ones.
    """
    dims = [axis for axis in range(numbers.ndim) if axis not in axes]
    for axis in axes:
        if numbers.shape[axis] > IN_ORDER and axis < max(dims, default=0):
            numbers = _halved(numbers, axis)
    return numbers


def _halved(numbers: Array, axis: int) -> Array:
    """Add the second half of an axis to the first, until one element is left."""
    rows = np.moveaxis(numbers, axis, 0)
    n, half = len(rows), -(-len(rows) // 2)
    sums = rows[:half].copy()
    sums[: n - half] += rows[half:]
    while (n := half) > 1:
        half = -(-n // 2)
        sums[: n - half] += sums[half:n]
    return np.moveaxis(sums[:1], 0, axis)


def _fold_pairs(frame: Frame, computation: Computation, rows: list[Array]) -> list[Array]:
    """Fold the first axis to one element; neighbours stay neighbours, in their order."""
    while (n := len(rows[0])) > 1:
        even = n - n % 2
        pairs = [x[0:even:2] for x in rows] + [x[1:even:2] for x in rows]
        folded = lifted(frame, computation, *pairs)
        rows = [np.concatenate([f, x[even:]]) for f, x in zip(folded, rows, strict=True)]
    return rows


@evaluates("scan", xla="XLA's HLO opcode list, kScan; scan_expander.cc")
def evaluate_scan(
    frame: Frame, instr: Instruction, attrs: a.Scan, *operands: Array
) -> Array | tuple[Array, ...]:
    """Fold a dimension step by step, and keep the outputs of each step.

    Parameters
    ----------
    operands : arrays whose dimension dimensions[0] is scanned, then `num_carries` initial carries.
        The computation takes a slice of each array, without that dimension, and the carries; it
        yields slices of the outputs and the next carries. With `is_reverse` the last slices come
        first.

    Returns
    -------
    Array or tuple of Array
        the outputs, then the final carries.
    """
    split = len(operands) - attrs.num_carries
    arrays, carries = operands[:split], operands[split:]
    axis = attrs.dimensions[0]
    shapes = instr.shape.elements if instr.shape.is_tuple else (instr.shape,)
    count = len(shapes) - attrs.num_carries
    outputs = tuple(np.empty(s.dims, s.element_type.dtype) for s in shapes[:count])
    steps = range(arrays[0].shape[axis])
    for step in reversed(steps) if attrs.is_reverse else steps:
        at = (slice(None),) * axis + (step,)
        value = frame.call(instr.called[0], *(x[at] for x in arrays), *carries)
        results = as_tuple(value)
        for output, result in zip(outputs, results[:count], strict=True):
            output[at] = result
        carries = results[count:]
    return (*outputs, *carries) if instr.shape.is_tuple else (*outputs, *carries)[0]
