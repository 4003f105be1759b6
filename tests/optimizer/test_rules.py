"""Every rule: its promise holds, the next stronger one does not, and integers are proved.

Nothing here knows a rule by name. Instances of the left side are made from the pattern.
"""

from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import settings
from strategies.instances import Instance, arguments, instance
from strategies.samplers import SAMPLERS

from hlo.element_type import BF16, C64, F16, F32, F64, PRED, S4, U4
from hlo.opcode import OPCODES
from hlo.shape import array
from hlo.verify import verify
from hlo_tools.generate.operands import TYPES, UnfitError
from hlo_tools.generate.values import nasty, tame
from interpreter import evaluate
from interpreter.compare import PROMISES, ROUNDING, compare
from optimizer.catalogue import ALL_RULE_SETS
from optimizer.log import Log
from optimizer.pattern import Application, ConstantVariable, Variable
from optimizer.rewrite import rewrite
from optimizer.rule import RuleSet

RULES = [rule for rules in ALL_RULE_SETS for rule in rules]
BY_NAME = pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
# How often to try in vain for each instance that fits.
PATIENCE = 40


def applied(rule, module):
    """The module after one firing of the rule; None if it does not apply."""
    after = rewrite(module, RuleSet([rule]), Log(fuel=1))
    return None if after is module else after


def samples(rule, count):
    """Instances of the left side to which the rule applies, with the module after and arguments."""
    # Rounding differs without bound where large numbers cancel.
    rounds = rule.promise == ROUNDING
    values, types = (tame, (F16, BF16, F32, F64, C64)) if rounds else (nasty, TYPES)
    found = 0
    for seed in range(count * PATIENCE):
        random = Random(f"{rule.name}/{seed}")
        try:
            if rule.name in SAMPLERS:
                before = SAMPLERS[rule.name](random, values)
            else:
                before = instance(rule.left, random, types, values=values)
        except UnfitError:
            continue
        after = applied(rule, before)
        if after is not None:
            yield before, after, arguments(before, random, values)
            found += 1
        if found == count:
            return
    assert found, "no instance of the left side was found: give the rule a sampler"


def difference(before, after, given, promise):
    return compare(evaluate(after, *given), evaluate(before, *given), promise)


@BY_NAME
def test_promise_holds(rule):
    for before, after, given in samples(rule, settings.default.max_examples):
        verify(after)
        broken = difference(before, after, given, rule.promise)
        assert broken is None, f"{broken}\n{before}\n{after}\n{given}"


@pytest.mark.parametrize(
    "rule",
    [rule for rule in RULES if rule.promise != PROMISES["BITS"]],
    ids=lambda rule: rule.name,
)
def test_next_stronger_promise_fails(rule):
    names = list(PROMISES)
    stronger = PROMISES[names[names.index(rule.promise_name) - 1]]
    tries = witnessed(rule) if rule.witness else samples(rule, 300)
    assert any(difference(*each, stronger) for each in tries), f"the rule keeps {stronger}"


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
            yield before, after, given


def terms(side):
    """All parts of a pattern."""
    yield side
    for operand in side.operands if isinstance(side, Application) else ():
        yield from terms(operand)


def is_elementwise(rule):
    parts = list(terms(rule.left))
    simple = all(
        OPCODES[opcode].elementwise
        for p in parts
        if isinstance(p, Application)
        for opcode in p.opcodes
    )
    variables = {p.name for p in parts if isinstance(p, Variable | ConstantVariable)}
    return simple and len(variables) <= 3


def all_values(element_type):
    return np.arange(2 if element_type is PRED else 16).astype(element_type.dtype)


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if is_elementwise(rule)], ids=lambda rule: rule.name
)
def test_proved_for_small_integers(rule):
    """All values of all variables, in pred and in types of four bits, where the rule applies."""
    constants = {p.name for p in terms(rule.left) if isinstance(p, ConstantVariable)}
    count = len({p.name for p in terms(rule.left) if isinstance(p, Variable)})
    for element_type in (PRED, S4, U4):
        shape = array(element_type, (len(all_values(element_type)) ** count,))
        for chosen in product(all_values(element_type), repeat=len(constants)):
            fixed = dict(zip(sorted(constants), chosen, strict=True))
            try:
                before = Instance(Random(0), fixed=fixed).build(rule.left, shape)
            except UnfitError:
                continue
            after = applied(rule, before)
            if after is None:
                continue
            types = [p.shape.element_type for p in before.entry.parameters]
            grids = np.meshgrid(*map(all_values, types), indexing="ij")
            given = [np.resize(grid, shape.dims) for grid in grids]
            broken = difference(before, after, given, PROMISES["BITS"])
            assert broken is None, f"{broken}\n{before}\n{after}"
