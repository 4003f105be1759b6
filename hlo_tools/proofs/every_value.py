"""Both sides of a rule on every value of small types, by the interpreter: a proof without a solver.

It knows every opcode and every format, NaN with all its payloads included; but only types of up to
eight bits have few enough values, or sixteen where there is one variable.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.attributes import Constant
from hlo.build import Builder
from hlo.build import module as module_of
from hlo.names import NameSupply
from hlo.types.element_type import ARRAY_TYPES, BF16, ELEMENT_TYPES, F16, PRED, ElementType
from hlo.types.limits import highest_of, lowest_of
from hlo.types.literal import literal
from hlo.types.shape import array
from hlo.walk import rebuild
from interpreter.engine.evaluate import evaluate
from interpreter.numbers.compare import Promise, compare

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from hlo.instruction import Instruction, Module
    from interpreter.numbers.compare import Difference

    Array = NDArray[Any]

FLOATS = tuple(t for t in ARRAY_TYPES if t.is_floating and t.bits <= 8)
INTEGERS = tuple(ELEMENT_TYPES[name] for name in ("s4", "u4", "s8", "u8"))
SMALL = {"floats": (PRED, *INTEGERS[:2], *FLOATS), "integers": (PRED, *INTEGERS)}
# Of one variable, two bytes are few enough.
HALVES = (F16, BF16)
# So many combinations of values, and of constants, are tried.
MOST_VALUES = 1 << 18
MOST_CONSTANTS = 300


def all_values(element_type: ElementType) -> Array:
    """All values of a type of at most sixteen bits."""
    if element_type is PRED:
        return np.array([False, True])
    if not element_type.is_floating:
        low = -(1 << element_type.bits - 1) if element_type.kind == "signed" else 0
        return np.arange(low, low + (1 << element_type.bits)).astype(element_type.dtype)
    # Floats of four and six bits take a byte, whose upper bits are nothing.
    width = int(element_type.name[1]) if element_type.name[1] in "46" else element_type.bits
    codes = np.arange(1 << width).astype(f"u{element_type.bytes}")
    return codes.view(element_type.dtype)


def telling_values(element_type: ElementType) -> Array:
    """Constants that rules tell apart: ends, zeros, small numbers, powers of two, NaN."""
    if element_type is PRED or (element_type.is_integer and element_type.bits <= 4):
        return all_values(element_type)
    if element_type.is_complex:
        return np.array([0, 1, -1, 1j, complex(2, -0.0), np.inf], element_type.dtype)
    if element_type.is_floating:
        return telling_floats(element_type)
    low, high = int(lowest_of(element_type)), int(highest_of(element_type))
    near = [n + d for n in (low, 0, high) for d in (-3, -2, -1, 0, 1, 2, 3)]
    near += range(element_type.bits + 2)
    powers = [sign << n for n in range(element_type.bits) for sign in (1, -1)]
    numbers = {n for n in (*near, *powers, 5, 7, 10, 100) if low <= n <= high}
    return np.array(sorted(numbers), object).astype(element_type.dtype)


def telling_floats(element_type: ElementType) -> Array:
    """The floats that are most special, each code once."""
    special = [0.0, -0.0, 1, -1, 2, -2, 0.5, 0.25, 3, 1 / 3, 10, np.inf, -np.inf, np.nan, 2e-5]
    ends = [float(lowest_of(element_type)), float(highest_of(element_type)), 57344, 448, 2**-16]
    with np.errstate(all="ignore"):
        values = np.array([*special, *ends]).astype(element_type.dtype)
    bits = values.view(f"u{element_type.bytes}")
    return bits[np.unique(bits, return_index=True)[1]].view(element_type.dtype)


def with_constants(module: Module, constants: Mapping[Instruction, Any]) -> Module:
    """A module of scalars with other constants."""
    plan = {
        instr: instr.with_(attrs=Constant(literal=literal(np.asarray(value))))
        for instr, value in constants.items()
    }
    return module_of(rebuild(module.entry, plan)) if plan else module


def chosen_constants(instrs: Iterable[Instruction], every: bool) -> Iterator[tuple[Any, ...]]:
    """Values of constants: all of them where they are few, else those that tell."""
    types = [instr.shape.element_type for instr in instrs]
    small = every and all(t.bits <= 8 for t in types)
    if small and prod(len(all_values(t)) for t in types) <= MOST_CONSTANTS:
        yield from product(*map(all_values, types))
        return
    rows = [telling_values(t) for t in types]
    # Of many combinations, some from everywhere.
    step = -(-prod(map(len, rows)) // (2 * MOST_CONSTANTS)) | 1
    for i, row in enumerate(product(*rows)):
        if i % step == 0:
            yield row


def all_arguments(module: Module) -> list[Array] | None:
    """All combinations of values of a module's scalar parameters; None if they are too many."""
    types = [p.shape.element_type for p in module.entry.parameters]
    if any(t.bits > 16 for t in types):
        return None
    values = [all_values(t) for t in types]
    if prod(map(len, values)) > MOST_VALUES:
        return None
    return [grid.reshape(-1) for grid in np.meshgrid(*values, indexing="ij")]


def mapped(module: Module, count: int) -> Module:
    """A module of scalars, at many places at once."""
    names = NameSupply()
    builder = Builder("everywhere", names)
    parameters = [builder.parameter(p.shape.with_dims((count,))) for p in module.entry.parameters]
    shape = array(module.entry.root.shape.element_type, (count,))
    dims: dict[str, Any] = {"dimensions": (0,)} if parameters else {}
    builder.add("map", *parameters, shape=shape, called=(module.entry,), **dims)
    return module_of(builder.build())


def difference(
    before: Module, after: Module, promise: Promise
) -> tuple[Difference, list[Any]] | None:
    """The first values of parameters for which two modules of scalars break a promise.

    Raises
    ------
    ValueError
        if there are too many values to try.
    """
    inputs = all_arguments(before)
    if inputs is None:
        raise ValueError("there are too many values to try them all")
    if not inputs:
        change = compare(evaluate(after), evaluate(before), promise)
        return (change, []) if change else None
    count = len(inputs[0])
    got, want = (evaluate(mapped(m, count), *inputs) for m in (after, before))
    change = compare(got, want, promise)
    if change is None:
        return None
    at = cast("Any", [values[change.index] for values in inputs])
    single = compare(np.asarray(got[change.index]), np.asarray(want[change.index]), promise)
    return single or change, at
