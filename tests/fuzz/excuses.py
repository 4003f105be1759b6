"""Whether a value is the interpreter's but for what XLA leaves open: rounding, and its order."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np

import hlo
import interpreter
from hlo import HloError
from hlo.types.literal import literal
from hlo.walk import rebuild, rebuild_module
from interpreter.numbers.compare import ROUNDING, Difference, Promise, compare
from interpreter.numbers.widths import type_of
from tests.fuzz.mistakes import EVALUATION, Case, Mistake, TooLongError, limit
from tests.strategies.liberties import (
    folds_from_the_end,
    folds_in_pairs,
    liberties,
    quotients_by_reciprocals,
    signs_of_nan,
)

Place = tuple[int, ...]  # of an array in nested tuples
FOLDS = ("reduce", "reduce-window", "all-reduce", "reduce-scatter", "scatter", "select-and-scatter")
# Orders of folding beside the interpreter's own, and quotients that are rounded twice.
CHOICES = (folds_from_the_end, folds_in_pairs, quotients_by_reciprocals)


Choice = Callable[[], AbstractContextManager[None]]


def judge(
    case: Case, got: Any, who: str, usual: Promise = ROUNDING, choices: Sequence[Choice] = CHOICES
) -> None:
    """Compare a value with the interpreter's.

    Parameters
    ----------
    usual : what is promised of a module that adds few numbers.
    choices : contexts in which the interpreter makes another choice that is open.

    Raises
    ------
    Mistake
        if they differ, and rounding does not excuse it.
    """
    # Each term of a sum may be rounded, in any order.
    terms = max((o.shape.size for i in case.module.instructions() if i.opcode in FOLDS
                 for o in i.operands if o.shape.is_array), default=0)  # fmt: skip
    promise = usual.within(usual.ulps + terms // 4)
    difference = compare(got, case.value, promise)
    if difference is None:
        return
    if not difference.reason:
        left = unexcused(case, _differing(got, case.value, promise), choices)
        if not left:
            return
        difference = next(iter(left.values()))
    opcodes = sorted({i.opcode for i in case.module.instructions()} - {"parameter", "constant"})
    raise Mistake("difference", f"{who} {' '.join(opcodes)[:80]}", f"{who}: {difference}")


def unexcused(
    case: Case, found: dict[Place, Difference], choices: Sequence[Choice] = CHOICES
) -> dict[Place, Difference]:
    """The differences of arrays of which the interpreter itself never gives another value.

    For numbers that are one rounding apart it does where a rounding error has become a large one
    on its way, or a comparison has gone the other way; for folds in another order, which XLA
    leaves open, where their computation is not associative; for x / y as x * (1 / y), where
    rounding that moving x and y leaves alone, as of x / x, has. Nobody promises such values.
    """
    trials = [lambda d=direction: _nudged_value(case, d) for direction in (np.inf, -np.inf, 0.0)]
    trials += [lambda c=choice: _other_value(case, c) for choice in choices]
    for evaluate in trials:
        try:
            with limit(EVALUATION):
                value = evaluate()
        except (HloError, TooLongError):
            return {}
        moved = _differing(value, case.value, ROUNDING)
        found = {path: it for path, it in found.items() if path not in moved or moved[path].reason}
        if not found:
            break
    return found


def _differing(got: Any, want: Any, promise: Promise, path: Place = ()) -> dict[Place, Difference]:
    """The arrays of nested tuples that break a promise, and how."""
    if isinstance(want, tuple):
        pairs = zip(got, want, strict=True)
        parts = [_differing(g, w, promise, (*path, i)) for i, (g, w) in enumerate(pairs)]
        return {at: difference for part in parts for at, difference in part.items()}
    difference = compare(got, want, promise)
    return {path: replace(difference, path=path)} if difference else {}


def _nudged_value(case: Case, direction: float) -> Any:
    """The value for numbers that are all moved to the next."""
    module = rebuild_module(case.module, lambda c: _nudged(c, direction))
    arguments = [_nudge(argument, direction) for argument in case.arguments]
    with liberties(), signs_of_nan(direction == 0):
        return interpreter.evaluate(module, *arguments)


def _other_value(case: Case, choice: Choice) -> Any:
    """The value where the interpreter chooses otherwise."""
    with choice():
        return interpreter.evaluate(case.module, *case.arguments)


def _nudged(computation: hlo.Computation, direction: float) -> hlo.Computation:
    """The computation with each number of its constants moved to the next."""
    plan = {}
    for i in computation.instructions:
        if i.opcode == "constant" and i.attrs.literal.array is not None:
            moved = literal(_nudge(i.attrs.literal.array, direction), i.shape)
            plan[i] = i.with_(attrs=replace(i.attrs, literal=moved))
    return rebuild(computation, plan) if plan else computation


def _nudge(value: Any, direction: float) -> Any:
    """Every float moved to the next one: up, down, or to zero."""
    if isinstance(value, tuple):
        return tuple(_nudge(element, direction) for element in value)
    if value is None:
        return None
    array = np.array(value)
    element_type = type_of(array)
    if element_type.is_complex:
        row = _nudge(array.reshape(-1).view(element_type.real.dtype), direction)
        return row.view(array.dtype).reshape(array.shape)
    if not element_type.is_floating or element_type.bits < 8:
        return array
    with np.errstate(all="ignore"):
        moved = np.nextafter(array, np.full_like(array, direction))
    return np.where(np.isfinite(moved), moved, array)
