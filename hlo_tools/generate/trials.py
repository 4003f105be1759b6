"""Random trials of rules: a left side, its right side, and values to compare them on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from hlo.attributes import Constant
from hlo.errors.error import HloError
from hlo.opcode import having
from hlo.types.element_type import BF16, C64, F16, F32, F64, PRED
from hlo.types.literal import literal
from hlo.verify import verify
from hlo.walk import rebuild
from hlo_tools.generate.expansion_samplers import SAMPLERS
from hlo_tools.generate.instances import arguments, instance
from hlo_tools.generate.operands import UnfitError
from hlo_tools.generate.random_shapes import TYPES
from hlo_tools.generate.values import nasty, tame
from interpreter.engine.evaluate import evaluate
from interpreter.numbers.compare import ROUNDING, compare
from optimizer.log import Log
from optimizer.rewriting.rewrite import rewrite
from optimizer.rewriting.rule import Rule, RuleSet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hlo.instruction import Instruction, Module
    from interpreter.numbers.compare import Difference, Promise

    Array = NDArray[Any]

SUMS = having("reduction") | having("contraction")
# How often to try in vain for each left side that fits.
PATIENCE = 40


class WrongShapeError(Exception):
    """A rule puts an array of one shape in the place of one of another."""


@dataclass(frozen=True)
class Trial:
    """A left side to which a rule applies."""

    before: Module
    after: Module
    arguments: list[Any]

    def difference(self, promise: Promise) -> Difference | None:
        """The index at which the values of both modules break a promise."""
        return compare(
            evaluate(self.after, *self.arguments), evaluate(self.before, *self.arguments), promise
        )

    def __str__(self) -> str:
        """Both modules and the values."""
        return f"{self.before}\n{self.after}\n{self.arguments}"


def applied(rule: Rule, module: Module) -> Module | None:
    """The module after one firing of a rule; None if it does not apply."""
    after = rewrite(module, RuleSet([rule]), Log(fuel=1))
    return None if after is module else after


def left_side(rule: Rule, random: Random) -> Module:
    """A random left side of a rule.

    Raises
    ------
    UnfitError, HloError
        if the random choices have led nowhere.
    """
    rounds = rule.promise == ROUNDING
    values, types = (tame, (F16, BF16, F32, F64, C64)) if rounds else (nasty, TYPES)
    if rule.name in SAMPLERS:
        sample = SAMPLERS[rule.name](random, values)
    else:
        sample = instance(rule.left, random, types, values=values)
    verify(sample)
    return sample


def trials(rule: Rule, count: int) -> Iterator[Trial]:
    """Trials of a rule, always the same; fewer than wanted, or none, if few left sides fit.

    Raises
    ------
    WrongShapeError
        if a replacement has another shape than what it replaces: the engine would leave it out.
    """
    values = tame if rule.promise == ROUNDING else nasty
    for seed in range(count * PATIENCE):
        random = Random(f"{rule.name}/{seed}")
        try:
            before = left_side(rule, random)
        except (UnfitError, HloError):
            continue
        check_shape(rule, before.entry.root)
        after = applied(rule, before)
        if after is not None:
            yield Trial(before, after, arguments(before, random, values))
            count -= 1
        if not count:
            return


def check_shape(rule: Rule, root: Instruction) -> None:
    """Refuse a replacement with another shape than the replaced instruction."""
    uses: Counter[Instruction] = Counter()
    for _, match, _ in RuleSet([rule]).matches(root, uses):
        new = rule.replacement(match)
        if new is not None and not new.shape.compatible(root.shape):
            raise WrongShapeError(f"the shape becomes {new.shape}\n{root}")


def broken_by(rule: Rule, trial: Trial) -> Difference | None:
    """The index at which a trial breaks a rule's promise; None if it does not.

    A sum in another order may differ by rounding errors of its terms, however small it is itself.
    """
    difference = trial.difference(rule.promise)
    if difference and rule.promise == ROUNDING and SUMS & set(rule.left.opcodes):
        return None if is_rounding_of_terms(trial) else difference
    return difference


def is_rounding_of_terms(trial: Trial) -> bool:
    """Whether two sums differ by no more than rounding errors of their terms.

    Where terms cancel, the sum is small and its relative error has no bound. What has one is the
    error beside the sum of absolute values, which the left side itself computes of absolute values.

    References
    ----------
    N. J. Higham, "Accuracy and Stability of Numerical Algorithms", section 4.2.
    """
    inputs = trial.arguments
    got, want = evaluate(trial.after, *inputs), evaluate(trial.before, *inputs)
    sizes = evaluate(of_sizes(trial.before), *map(size_of, inputs))
    rows: list[Any] = [x if isinstance(x, tuple) else (x,) for x in (got, want, sizes)]
    return all(
        bool((abs(wide(g) - wide(w)) <= ROUNDING.ulps * eps_of(g) * abs(wide(s))).all())
        for g, w, s in zip(*rows, strict=True)
    )


def eps_of(values: Array) -> float:
    """The distance from 1 to the next number of an array's type."""
    return float(cast("Any", ml_dtypes.finfo(values.dtype)).eps)


def wide(values: Array) -> Array:
    """Numbers in a type that holds all."""
    return values.astype(np.complex128)


def size_of(value: Array) -> Array:
    """Absolute values, in the same type."""
    return np.abs(value).astype(value.dtype)


def of_sizes(module: Module) -> Module:
    """A module whose constants are without their signs."""
    plan = {
        instr: instr.with_(attrs=Constant(literal=literal(size_of(_literal(instr)))))
        for instr in module.entry.instructions
        if instr.opcode == "constant" and instr.shape.element_type is not PRED
    }
    entry = rebuild(module.entry, plan)
    computations = tuple(entry if c is module.entry else c for c in module.computations)
    return replace(module, entry=entry, computations=computations)


def _literal(constant: Instruction) -> Array:
    return cast("Array", Constant.of(constant).literal.array)
