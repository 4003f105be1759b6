"""What holds of every rule, checked on instances of its left side made from the pattern."""

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from math import prod
from random import Random

import ml_dtypes
import numpy as np
from hypothesis import settings
from strategies.liberties import liberties

from hlo.attributes import Constant
from hlo.errors.error import HloError
from hlo.types.element_type import BF16, C64, F8E5M2, F16, F32, F64, PRED, S4, U4
from hlo.types.literal import literal
from hlo.types.shape import array
from hlo.verify import verify
from hlo.walk import rebuild
from hlo_tools.generate.instances import Instance, arguments, instance
from hlo_tools.generate.operands import TYPES, UnfitError
from hlo_tools.generate.structure_samplers import SAMPLERS
from hlo_tools.generate.values import nasty, tame
from interpreter import evaluate
from interpreter.numbers.compare import PROMISES, ROUNDING, compare
from optimizer.log import Log
from optimizer.rewriting.evidence import terms
from optimizer.rewriting.rewrite import rewrite
from optimizer.rewriting.rule import RuleSet
from optimizer.rewriting.term import Application, ConstantVariable, Variable

# How often to try in vain for each instance that fits.
PATIENCE = 40


def applied(rule, module):
    """The module after one firing of the rule; None if it does not apply."""
    after = rewrite(module, RuleSet([rule]), Log(fuel=1))
    return None if after is module else after


def check_shape(rule, before):
    """A replacement must have the shape of what it replaces: the engine would leave it out."""
    uses = Counter()
    for _, match, _ in RuleSet([rule]).matches(before.entry.root, uses):
        new = rule.replacement(match)
        if new is not None:
            same = new.shape.compatible(match.root.shape)
            assert same, f"the shape becomes {new.shape}\n{before}"


SUMS = {"reduce", "reduce-window", "dot", "convolution"}


def samples(rule, count):
    """Instances of the left side to which the rule applies, with the module after and arguments."""
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
            verify(before)
        except (UnfitError, HloError):
            continue
        check_shape(rule, before)
        after = applied(rule, before)
        if after is not None:
            yield before, after, arguments(before, random, values)
            found += 1
        if found == count:
            return
    assert found, "no instance of the left side was found: give the rule a sampler"


def difference(before, after, given, promise):
    return compare(evaluate(after, *given), evaluate(before, *given), promise)


def check_promise(rule, count=settings.default.max_examples):
    """The promise holds for random instances."""
    for before, after, given in samples(rule, count):
        verify(after)
        broken = difference(before, after, given, rule.promise)
        if broken and rule.promise == ROUNDING and SUMS & set(rule.left.opcodes):
            broken = None if is_rounding_of_terms(before, after, given) else broken
        assert broken is None, f"{broken}\n{before}\n{after}\n{given}"


def is_rounding_of_terms(before, after, given):
    """Whether two sums differ by no more than rounding errors of what is summed.

    Where terms cancel, the sum is small and its relative error has no bound. What has one is the
    error beside the sum of absolute values (N. J. Higham, "Accuracy and Stability of Numerical
    Algorithms", section 4.2), which the left side itself computes of absolute values.
    """
    got, want = evaluate(after, *given), evaluate(before, *given)
    sizes = evaluate(of_sizes(before), *map(size_of, given))
    leaves = zip(*(x if isinstance(x, tuple) else (x,) for x in (got, want, sizes)), strict=True)
    return all(
        (abs(wide(g) - wide(w)) <= ROUNDING.ulps * eps_of(g) * abs(wide(s))).all()
        for g, w, s in leaves
    )


def eps_of(values):
    return float(ml_dtypes.finfo(values.dtype).eps)


def wide(values):
    return values.astype(np.complex128)


def size_of(value):
    return np.abs(value).astype(value.dtype)


def of_sizes(module):
    """A module whose constants are without their signs."""
    plan = {
        instr: instr.with_(attrs=Constant(literal=literal(size_of(instr.attrs.literal.array))))
        for instr in module.entry.instructions
        if instr.opcode == "constant" and instr.shape.element_type is not PRED
    }
    entry = rebuild(module.entry, plan)
    computations = tuple(entry if c is module.entry else c for c in module.computations)
    return replace(module, entry=entry, computations=computations)


def check_next_stronger(rule):
    """Some instance breaks the next stronger promise, on every machine."""
    names = list(PROMISES)
    stronger = PROMISES[names[names.index(rule.promise_name) - 1]]
    tries = witnessed(rule) if rule.witness else samples(rule, 300)
    free = liberties() if rule.promise == ROUNDING and not rule.witness else nullcontext()
    with free:
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
        for before, given in exhaustive(rule, element_type, seed):
            # The same types and attributes again prove nothing new.
            if str(before) in seen:
                continue
            seen.add(str(before))
            after = applied(rule, before)
            broken = after and difference(before, after, given, promise)
            assert not broken, f"{broken}\n{before}\n{after}"


def exhaustive(rule, element_type, seed):
    """Instances of the left side with arguments that are all values of all variables, combined."""
    wanted = names(rule, ConstantVariable)
    options = {"types": SMALL}
    try:
        probe = Instance(Random(seed), fixed=dict.fromkeys(wanted, 0), **options)
        parameters = probe.build(rule.left, array(element_type, (1,))).entry.parameters
    except UnfitError:
        return
    values = [all_values(p.shape.element_type) for p in parameters]
    shape = array(element_type, (prod(map(len, values)),))
    if shape.size > 1 << 16:
        return
    given = [grid.reshape(-1) for grid in np.meshgrid(*values, indexing="ij")]
    for chosen in product(*(some_values(probe.found[n].shape.element_type) for n in wanted)):
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
