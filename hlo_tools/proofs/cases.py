"""Left sides on which a rule is proved, and the question that each asks of the solver."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import hlo_tools.proofs.bits_and_sizes  # pyright: ignore[reportUnusedImport]  # noqa: F401  it fills the table
from hlo.errors.error import HloError
from hlo.opcode import OPCODES
from hlo.types.element_type import ELEMENT_TYPES
from hlo.types.shape import array
from hlo.verify import verify
from hlo_tools.generate.expansion_samplers import SAMPLERS
from hlo_tools.generate.instances import Instance, instance
from hlo_tools.generate.operands import UnfitError, operands_for
from hlo_tools.generate.trials import applied
from hlo_tools.proofs.arrays import translated
from hlo_tools.proofs.conditions import TRUE, condition
from hlo_tools.proofs.decide import SolverAnswer, array_in_model, decide, difference_at
from hlo_tools.proofs.every_value import with_constants
from hlo_tools.proofs.solver import Solved, z3
from hlo_tools.proofs.term_arrays import Value, symbols
from hlo_tools.proofs.tour import Tour, tours
from interpreter.engine.evaluate import evaluate
from interpreter.numbers.compare import Difference, compare
from optimizer.rewriting.application import Application, Rest
from optimizer.rewriting.parts import terms
from optimizer.rewriting.rule import Rule, RuleSet, instantiate
from optimizer.rewriting.term import ConstantVariable, Folded, Term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hlo.instruction import Instruction, Module
    from hlo.types.element_type import ElementType

# As wide as integers are, and the formats that the solver knows.
INTEGERS = tuple(ELEMENT_TYPES[f"{sign}{bits}"] for bits in (4, 8, 16, 32, 64) for sign in "su")
FLOATS = tuple(ELEMENT_TYPES[name] for name in ("f8e4m3", "f16", "bf16", "f32", "f64"))
COMPLEX = tuple(ELEMENT_TYPES[name] for name in ("c64", "c128"))
PROVABLE = (ELEMENT_TYPES["pred"], *INTEGERS, *FLOATS, *COMPLEX)
# Opcodes that move elements treat all types alike.
MOVED = tuple(ELEMENT_TYPES[name] for name in ("s32", "f32", "pred"))


@dataclass(frozen=True)
class Counterexample:
    """A left side, and values for which the right side breaks the promise."""

    before: Module
    after: Module
    arguments: list[Any]
    difference: Difference

    def __str__(self) -> str:
        """All that there is to see."""
        values = "\n".join(
            f"// %{p.name} = {value}"
            for p, value in zip(self.before.entry.parameters, self.arguments, strict=True)
        )
        return f"{self.difference}\n\n// before\n{self.before}// after\n{self.after}{values}"


@dataclass
class Question:
    """Whether two instructions can differ, for any values of the unknowns.

    Attributes
    ----------
    unknown : the instructions whose values are unknown: parameters, and constants if any constant
        will do.
    """

    old: Instruction
    new: Instruction
    assumed: Solved
    values: dict[Instruction, Value]
    unknown: dict[str, Instruction] = field(default_factory=dict[str, "Instruction"])

    def ask(self, rule: Rule, steps: int) -> SolverAnswer:
        """The answer of the solver."""
        want, got = translated(self.old, self.values), translated(self.new, self.values)
        differ = difference_at(rule.promise)
        return decide(list(pairs(got, want, differ)), self.assumed, steps)


def pairs(got: Value, want: Value, differ: Callable[[Solved, Solved], Solved]) -> Iterator[Solved]:
    """The conditions under which each element differs."""
    if isinstance(want, tuple):
        for g, w in zip(got, cast("Any", want), strict=True):
            yield from pairs(g, w, differ)
        return
    for g, w in zip(got.reshape(-1), want.reshape(-1), strict=True):
        yield differ(g, w)


def is_elementwise(rule: Rule) -> bool:
    """Whether each element depends on one of each variable, and left sides can be generated."""
    parts = [part for part in terms(rule.left) if isinstance(part, Application)]
    opcodes = {opcode for part in parts for opcode in part.opcodes}
    whole = any(isinstance(part, Rest) for part in terms(rule.left))
    return not whole and all(OPCODES[o].elementwise and o in operands_for for o in opcodes)


def constants_of(rule: Rule) -> list[str]:
    """The names of a rule's variables that stand for constants."""
    parts = terms(rule.left)
    return sorted({part.name for part in parts if isinstance(part, ConstantVariable)})


def plain(shape: Any, _random: Any) -> Any:
    """The values of constants where any will do."""
    return np.ones(shape.dims, shape.element_type.dtype)


def scalars(
    rule: Rule, result: ElementType, limit: int, **options: Any
) -> Iterator[tuple[Instance, Module]]:
    """Left sides of scalars with a result of a type: all operand types, attributes, opcodes."""
    seen: set[str] = set()
    options = {"values": plain, "types": PROVABLE} | options
    for tour in tours(f"{rule.name}/{result}", limit):
        sample = Instance(tour, **options)
        try:
            built = sample.build(rule.left, array(result, options.get("dims", ())))
            verify(built)
        except (UnfitError, HloError):
            continue
        if str(built) not in seen:
            seen.add(str(built))
            yield sample, built


class SmallArrays:
    """Left sides of small arrays, all different, from the rule's sampler if it has one.

    Attributes
    ----------
    finished : whether there are no others.
    """

    def __init__(self, rule: Rule, limit: int) -> None:
        self.rule, self.limit = rule, limit
        self.finished = False

    def __iter__(self) -> Iterator[Module]:
        """Make them, as many as the limit says at most."""
        seen: set[str] = set()
        rule, tour = self.rule, Tour(self.rule.name)
        for _ in range(self.limit):
            if not tour.again():
                self.finished = True
                return
            try:
                if rule.name in SAMPLERS:
                    before = SAMPLERS[rule.name](tour, plain)
                else:
                    before = instance(rule.left, tour, MOVED, values=plain)
                verify(before)
            except (UnfitError, HloError):
                continue
            if str(before) not in seen:
                seen.add(str(before))
                yield before


def unfolded(side: Term) -> Term:
    """A right side that computes at run time the constants that it would fold when applied."""
    if isinstance(side, Folded):
        return Application((side.opcode,), tuple(map(unfolded, side.operands)))
    if isinstance(side, Application):
        return replace(side, operands=tuple(map(unfolded, side.operands)))
    return side


def for_all_constants(rule: Rule, sample: Instance, before: Module) -> Question | None:
    """The question of a left side whose constants may be any; None where the rule does not apply.

    Raises
    ------
    ConstantsNeededError
        if the guard looks at constants, and the solver is not told how.
    """
    root = before.entry.root
    unknown = {name: sample.bindings[name] for name in constants_of(rule)}
    unknown |= {p.name: p for p in before.entry.parameters}
    values: dict[Any, Value] = {i: symbols(name, i.shape) for name, i in unknown.items()}
    assert isinstance(rule.right, Term)
    for _, match, _ in RuleSet([rule]).matches(root, Counter()):
        if any(match.bindings.get(name) is not unknown[name] for name in constants_of(rule)):
            continue
        assumed = z3.simplify(condition(rule.where, match, WithUnknown(values)))
        if z3.is_false(assumed):
            continue
        new = instantiate(unfolded(rule.right), match, root.shape, is_root=True)
        if not new.shape.compatible(root.shape):
            continue
        return Question(root, new, assumed, values, unknown)
    return None


class WithUnknown(dict[Any, Value]):
    """Values of instructions; those that are not known are computed."""

    def __missing__(self, instr: Any) -> Value:
        """Translate the instruction."""
        return translated(instr, self)


def for_these_constants(rule: Rule, before: Module) -> Question | None:
    """The question of a left side as it is; None where the rule does not apply."""
    after = applied(rule, before)
    if after is None:
        return None
    parameters = {p.name: p for p in before.entry.parameters}
    values: dict[Any, Value] = {p: symbols(name, p.shape) for name, p in parameters.items()}
    # The same values under the parameters of the module after.
    for p, q in zip(before.entry.parameters, after.entry.parameters, strict=True):
        values[q] = values[p]
    return Question(before.entry.root, after.entry.root, TRUE, values, parameters)


def counterexample(
    rule: Rule, question: Question, model: Any, before: Module
) -> Counterexample | None:
    """The solver's difference on the interpreter.

    None if the interpreter disagrees, or if an opcode means nothing for the types.
    """
    model_values = {
        name: array_in_model(model, question.values[instr], instr.shape.element_type)
        for name, instr in question.unknown.items()
    }
    constants = {i: model_values[n] for n, i in question.unknown.items() if i.opcode == "constant"}
    before = with_constants(before, constants)
    arguments = [model_values[p.name] for p in before.entry.parameters]
    after = applied(rule, before)
    if after is None:
        return None
    try:
        values = evaluate(after, *arguments), evaluate(before, *arguments)
    except HloError as error:
        if error.code != "HLO101":
            raise
        return None
    difference = compare(*values, rule.promise)
    return Counterexample(before, after, arguments, difference) if difference else None
