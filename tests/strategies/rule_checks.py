"""What holds of every rule, checked on instances of its left side made from the pattern."""

from contextlib import nullcontext
from itertools import product
from math import prod
from random import Random

import numpy as np
from hypothesis import settings
from strategies.liberties import liberties

from hlo.opcode import OPCODES
from hlo.types.element_type import F8E5M2, F32, PRED, S4, U4
from hlo.types.shape import array
from hlo.verify import verify
from hlo_tools.generate.instances import Instance
from hlo_tools.generate.operands import UnfitError, operands_for
from hlo_tools.generate.trials import PATIENCE, Trial, applied, broken_by, trials
from interpreter.numbers.compare import PROMISES, ROUNDING
from optimizer.rewriting.application import Application
from optimizer.rewriting.parts import terms
from optimizer.rewriting.term import ConstantVariable, Variable


def samples(rule, count):
    """Trials of a rule; there must be some."""
    made = list(trials(rule, count))
    assert made, "no instance of the left side was found: give the rule a sampler"
    return made


def check_promise(rule, count=settings.default.max_examples):
    """The promise holds for random instances."""
    for trial in samples(rule, count):
        verify(trial.after)
        broken = broken_by(rule, trial)
        assert broken is None, f"{broken}\n{trial}"


def check_next_stronger(rule):
    """Some instance breaks the next stronger promise, on every machine."""
    names = list(PROMISES)
    stronger = PROMISES[names[names.index(rule.promise_name) - 1]]
    tries = witnessed(rule) if rule.witness else samples(rule, 300)
    free = liberties() if rule.promise == ROUNDING and not rule.witness else nullcontext()
    with free:
        assert any(each.difference(stronger) for each in tries), f"the rule keeps {stronger}"


def witnessed(rule):
    """Instances of the left side that have the rule's witness as values, in f32."""
    for seed in range(PATIENCE):
        made = Instance(Random(seed), fixed=dict(rule.witness))
        try:
            before = made.build(rule.left, array(F32))
        except UnfitError:
            continue
        after = applied(rule, before)
        if after is not None:
            given = [np.float32(rule.witness[p.name]) for p in before.entry.parameters]
            yield Trial(before, after, given)


def all_values(element_type):
    """All values of a type of at most eight bits."""
    count = 2 if element_type is PRED else 1 << element_type.bits
    codes = np.arange(count).astype(np.uint8)
    if element_type.bits == 8 and element_type is not PRED:
        return codes.view(element_type.dtype)
    return codes.astype(element_type.dtype)


# Where operands need not have the result's type, as those of a comparison, several are tried.
SMALL = (PRED, S4, U4, F8E5M2)
CHANGES_TYPE = {"compare", "convert", "is-finite", "select"}


# All values of three variables of four bits are 4,096 combinations; of four, 65,536 for each
# constant.
MOST_VARIABLES = 3


def has_few_values(rule):
    """Whether a rule can be tried on all values of its variables in small types."""
    parts = [part for part in terms(rule.left) if isinstance(part, Application)]
    opcodes = {opcode for part in parts for opcode in part.opcodes}
    elementwise = all(OPCODES[o].elementwise and o in operands_for for o in opcodes)
    variables = {*names(rule, Variable), *names(rule, ConstantVariable)}
    return elementwise and len(variables) <= MOST_VARIABLES


def prove_for_small_integers(rule):
    """All values of all variables, in pred and in types of four bits, where the rule applies."""
    for element_type in (PRED, S4, U4):
        prove(rule, element_type, PROMISES["BITS"])


def prove_for_small_floats(rule):
    """All values of two variables in an eight-bit float that has NaN, infinities and subnormals."""
    if rule.promise != ROUNDING and len(names(rule, Variable)) <= 2:
        prove(rule, F8E5M2, rule.promise)


def prove(rule, element_type, promise):
    """Both sides are equal for all values of the variables and many constants."""
    parts = [p for p in terms(rule.left) if isinstance(p, Application)]
    opcodes = {opcode for p in parts for opcode in p.opcodes}
    many = opcodes & CHANGES_TYPE or any(len(p.opcodes) > 1 for p in parts)
    seen = set()
    for seed in range(16 if many else 1):
        for before, given in exhaustive(rule, element_type, seed, seen):
            after = applied(rule, before)
            broken = after and Trial(before, after, given).difference(promise)
            assert not broken, f"{broken}\n{before}\n{after}"


def exhaustive(rule, element_type, seed, seen):
    """Instances of the left side with arguments that are all values of all variables, combined.

    `seen` holds the texts of earlier seeds: the same types and attributes again prove nothing new.
    """
    wanted = names(rule, ConstantVariable)
    options = {"types": SMALL}
    try:
        probe = Instance(Random(seed), fixed=dict.fromkeys(wanted, 0), **options)
        module = probe.build(rule.left, array(element_type, (1,)))
    except UnfitError:
        return
    if str(module) in seen:
        return
    seen.add(str(module))
    parameters = module.entry.parameters
    values = [all_values(p.shape.element_type) for p in parameters]
    shape = array(element_type, (prod(map(len, values)),))
    if shape.size > 1 << 16:
        return
    given = [grid.reshape(-1) for grid in np.meshgrid(*values, indexing="ij")]
    for chosen in product(*(some_values(probe.bindings[n].shape.element_type) for n in wanted)):
        fixed = dict(zip(wanted, chosen, strict=True))
        yield Instance(Random(seed), fixed=fixed, **options).build(rule.left, shape), given


def some_values(element_type):
    """All values of a small integer type; of floats those that are most special."""
    if not element_type.is_floating:
        return all_values(element_type)
    special = np.array([0.0, -0.0, 1, -1, 2, 0.5, 3, np.inf, -np.inf, np.nan, 57344, 2e-5])
    return special.astype(element_type.dtype)


def names(rule, kind):
    """The names of a rule's variables of a kind, in order."""
    return sorted({p.name for p in terms(rule.left) if isinstance(p, kind)})
