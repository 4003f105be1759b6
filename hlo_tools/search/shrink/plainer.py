"""Cases of plainer constants and arguments: zeros, ones, small whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.attributes import Constant
from hlo.types.literal import literal
from hlo.walk import rebuild, rebuild_module
from hlo_tools.search.shrink.case import Case, cost

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.instruction import Computation, Instruction

Value = Any  # an array, None for a token, or a tuple of values

# Of larger arrays elements are not changed one by one.
MOST_ELEMENTS = 64


def plainer(case: Case) -> Iterator[Case]:
    """Cases with one array changed, the plainest first."""
    for n, argument in enumerate(case.arguments or ()):
        for value in plainer_values(argument):
            arguments = cast("tuple[Value, ...]", case.arguments)
            yield Case(case.module, (*arguments[:n], value, *arguments[n + 1 :]))
    for instr in case.module.instructions():
        if isinstance(instr.attrs, Constant) and instr.shape.is_array:
            for value in plainer_values(instr.attrs.literal.value):
                yield with_constant(case, instr, value)


def plainer_values(value: Value) -> Iterator[Value]:
    """Values that cost less to read."""
    if isinstance(value, tuple):
        elements = cast("tuple[Value, ...]", value)
        for n, element in enumerate(elements):
            for other in plainer_values(element):
                yield (*elements[:n], other, *elements[n + 1 :])
        return
    if value is None:
        return
    array = np.asarray(value)
    now = cost(array)
    # A generator must not stop inside of this context, so all are made at once.
    with np.errstate(all="ignore"):
        others = [o for o in candidates(array) if o.shape == array.shape and cost(o) < now]
    yield from others


def candidates(array: Any) -> Iterator[Any]:
    """Arrays that may be plainer."""
    whole = array.dtype == np.bool_
    yield np.zeros_like(array)
    for number in (1,) if whole else (1, 2, 3, -1):
        yield np.full(array.shape, number).astype(array.dtype)
    if whole or not array.size:
        return
    if array.dtype.kind != "c":
        yield cast("Any", np.round(array.astype(np.float64))).astype(array.dtype)
    yield np.full_like(array, array.reshape(-1)[0])
    if array.size <= MOST_ELEMENTS:
        for index in range(array.size):
            for number in (0, 1, 2, 3, -1, 0.5):
                other = array.copy()
                other.reshape(-1)[index] = np.asarray(number).astype(array.dtype)
                yield other


def with_constant(case: Case, instr: Instruction, value: Value) -> Case:
    """The case with another value for a constant."""
    new = instr.with_(attrs=Constant(literal=literal(value, instr.shape)))

    def change(computation: Computation) -> Computation:
        return (
            rebuild(computation, {instr: new}) if instr in computation.instructions else computation
        )

    return Case(rebuild_module(case.module, change), case.arguments)
