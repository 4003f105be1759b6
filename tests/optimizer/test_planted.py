"""The tests are tested: wrong rules and miscompiling passes are planted, and must be caught.

Each wrong rule is one that somebody might write. The generated test of rules must refuse it; each
wrong pass must be refused by the test of passes on random modules, or by the verifier.
"""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from strategies import rule_checks

import hlo
from hlo.errors.error import HloError
from hlo.types.literal import literal
from hlo.types.values import SliceDim
from hlo.walk import names_of, rebuild, rebuild_module
from hlo_tools.checking.failure import find_failure
from hlo_tools.checking.search import smallest
from hlo_tools.generate.modules import random_module
from hlo_tools.generate.values import nasty
from interpreter.numbers.compare import FINITE, ROUNDING
from optimizer.cleanup.dce import Dce
from optimizer.log import Log
from optimizer.rewriting.guards import is_floating, is_integer, is_signed, is_unsigned
from optimizer.rewriting.make import make
from optimizer.rewriting.pattern import (
    a,
    add,
    and_,
    broadcast,
    c,
    c1,
    c2,
    clamp,
    compare,
    concatenate,
    convert,
    divide,
    maximum,
    minimum,
    multiply,
    negate,
    not_,
    p,
    q,
    remainder,
    reshape,
    reverse,
    select,
    shift_left,
    shift_right_logical,
    slice_,
    subtract,
    transpose,
    x,
    y,
    z,
)
from optimizer.rewriting.rule import Rule, rule


@rule(transpose(transpose(x, p), q))
def swapped_permutations(x, p, q):
    return transpose(x, tuple(q[i] for i in p))


@rule(broadcast(broadcast(x, p), q))
def outer_dimensions_only(x, p, q, root):
    return broadcast(x, q[: len(p)], shape=root.shape)


@rule(reverse(reverse(x, p), q))
def reverse_twice_is_nothing(x):
    return x


@rule(slice_(x, p))
def slice_forgets_its_stride(x, p, root):
    pairs = zip(p, root.shape.dims, strict=True)
    plain = tuple(replace(d, stride=1, limit=d.start + n) for d, n in pairs)
    return slice_(x, plain) if plain != p else None


@rule(concatenate(x, y, dimensions=p))
def concatenate_in_the_other_order(x, y, p):
    return concatenate(y, x, dimensions=p)


WRONG_RULES = [
    Rule(multiply(x, 0), 0, name="multiply by 0"),
    Rule(add(x, 0), x, name="add 0, whatever the sign"),
    Rule(subtract(x, x), 0, name="difference of equals"),
    Rule(divide(x, x), 1, name="quotient of equals"),
    Rule(divide(x, x), 1, promise=FINITE, where=is_integer(x), name="integer quotient of equals"),
    Rule(negate(subtract(x, y)), subtract(y, x), name="negated difference"),
    Rule(divide(x, c), multiply(x, 1 / c), where=is_floating(x), name="any reciprocal"),
    Rule(add(add(x, c1), c2), add(x, c1 + c2), name="sums of constants"),
    Rule(subtract(x, y), subtract(y, x), promise=ROUNDING, name="operands swapped"),
    Rule(maximum(x, minimum(x, y)), y, promise=ROUNDING, name="absorption, the wrong one"),
    Rule(minimum(maximum(x, y), y), x, name="absorption of another operand"),
    Rule(multiply(x, 2), shift_left(x, 2), where=is_integer(x), name="shift by the factor"),
    Rule(divide(x, 2), shift_right_logical(x, 1), where=is_signed(x), name="shift of negatives"),
    Rule(remainder(x, 4), and_(x, 3), where=is_signed(x), name="mask of negatives"),
    Rule(remainder(x, 4), and_(x, 4), where=is_unsigned(x), name="mask of one bit"),
    Rule(select(x, y, z), select(x, z, y), name="arms swapped"),
    Rule(select(not_(x), y, z), select(x, y, z), name="not forgotten"),
    Rule(compare(x, x, "LE"), 1, name="less or equal to itself, NaN too"),
    Rule(not_(compare(x, y, "LT")), compare(x, y, "GE"), name="not less, with NaN"),
    Rule(clamp(x, y, z), minimum(maximum(y, z), x), name="clamp with bounds swapped"),
    Rule(convert(convert(x)).as_(a), convert(x), name="convert through a narrower type"),
    Rule(reshape(transpose(x, p)).as_(a), reshape(x), name="reshape of a transpose"),
    Rule(and_(x, 1), x, name="and 1, for integers too"),
    Rule(add(x, -0.0), add(x, 0.0), name="the wrong zero"),
    swapped_permutations,
    outer_dimensions_only,
    reverse_twice_is_nothing,
    slice_forgets_its_stride,
    concatenate_in_the_other_order,
]


@pytest.mark.parametrize("wrong", WRONG_RULES, ids=lambda wrong: wrong.name)
def test_wrong_rule_is_caught(wrong):
    with pytest.raises((AssertionError, HloError), match=r"differ|HLO|shape"):
        check_rule(wrong)


def check_rule(checked):
    rule_checks.check_promise(checked, 60)
    if rule_checks.is_elementwise(checked):
        rule_checks.prove_for_small_integers(checked)
        rule_checks.prove_for_small_floats(checked)


def test_too_weak_promise_is_caught():
    modest = Rule(negate(negate(x)), x, promise=ROUNDING)
    with pytest.raises(AssertionError):
        rule_checks.check_next_stronger(modest)


SUM = """HloModule m
add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}}
ENTRY e {{
  x = f32[5] parameter(0)
  zero = f32[] constant({first})
  ROOT r = f32[] reduce(x, zero), dimensions={{0}}, to_apply=add
}}"""


def test_sums_may_round_but_not_change():
    """Of terms that cancel, 1e6 + 1 - 1e6 + ..., the last digits are lost, but no term is."""
    before = hlo.parse(SUM.format(first=0))
    given = [np.array([1e6, 1, -1e6, 0.3, 2], np.float32)]
    rounded, changed = (hlo.parse(SUM.format(first=first)) for first in (0.25, 20))
    assert rule_checks.difference(before, rounded, given, ROUNDING) is not None
    assert rule_checks.is_rounding_of_terms(before, rounded, given)
    assert not rule_checks.is_rounding_of_terms(before, changed, given)


def test_rule_that_never_fits_is_caught():
    with pytest.raises(AssertionError, match="no instance"):
        rule_checks.check_promise(Rule(add(x, 0), x, where=is_integer(x) & is_floating(x)))


class Planted:
    """A pass that replaces instructions by what a function makes of them, whatever that means."""

    name = "planted"

    def __init__(self, change):
        self.change = change

    def run(self, module, log):
        names = names_of(module)

        def rewrite(computation):
            plan = {}
            for instr in computation.instructions:
                new = self.change(instr)
                if new is not None and new is not instr and log.rewrite("planted", instr, new):
                    fresh = new.name == new.opcode
                    plan[instr] = new.with_(name=names.unique(new.opcode)) if fresh else new
            return rebuild(computation, plan)

        return rebuild_module(module, rewrite)


def first_branch(instr):
    if instr.opcode == "conditional":
        return make("call", instr.operands[1], called=instr.called[:1])
    return None


def loop_left_out(instr):
    return instr.operands[0] if instr.opcode == "while" else None


def one_turn_only(instr):
    if instr.opcode == "while":
        return make("call", instr.operands[0], called=instr.called[1:])
    return None


def element_beside(instr):
    if instr.opcode != "get-tuple-element" or instr.operands[0].opcode != "tuple":
        return None
    elements = instr.operands[0].operands
    return elements[(instr.attrs.index + 1) % len(elements)]


def slice_from_zero(instr):
    if instr.opcode != "dynamic-slice" or not instr.shape.dims:
        return None
    dims = tuple(SliceDim(0, n) for n in instr.shape.dims)
    return make("slice", instr.operands[0], slice=dims)


def arguments_turned(instr):
    if instr.opcode == "call" and len(instr.operands) > 1:
        return instr.with_(operands=instr.operands[::-1])
    return None


def reduced_along_another(instr):
    if instr.opcode != "reduce" or instr.attrs.dimensions in ((), (0,)):
        return None
    return instr.with_(attrs=replace(instr.attrs, dimensions=(0,)))


def padding_forgotten(instr):
    return instr.operands[0] if instr.opcode == "pad" else None


def name_taken(instr):
    if instr.opcode == "negate":
        return instr.with_(opcode="abs", name=instr.operands[0].name)
    return None


def constants_are_zero(instr):
    if (
        instr.opcode != "constant"
        or not instr.shape.is_array
        or not instr.attrs.literal.array.any()
    ):
        return None
    zero = literal(np.zeros_like(instr.attrs.literal.array), instr.shape)
    return make("constant", shape=instr.shape, literal=zero)


def direction_turned(instr):
    if instr.opcode != "compare" or instr.attrs.direction != "LT":
        return None
    return instr.with_(attrs=replace(instr.attrs, direction="LE"))


def back_and_forth(instr):
    """Never wrong, but never done either."""
    if instr.opcode == "add":
        return instr.with_(operands=instr.operands[::-1])
    return None


WRONG_CHANGES = [
    first_branch,
    loop_left_out,
    one_turn_only,
    element_beside,
    slice_from_zero,
    arguments_turned,
    reduced_along_another,
    padding_forgotten,
    name_taken,
    constants_are_zero,
    direction_turned,
    back_and_forth,
]


class Thirsty:
    """Dead code elimination that needs no fuel."""

    name = "thirsty"

    def run(self, module, log):  # noqa: ARG002
        return Dce().run(module, Log())


class Forgetful:
    """CSE that takes instructions with other attributes for equal."""

    name = "forgetful"

    def run(self, module, log):
        def change(computation):
            plan, first = {}, {}
            for instr in computation.instructions:
                if not instr.operands:
                    continue
                kept = first.setdefault((instr.opcode, instr.operands, instr.shape), instr)
                if kept is not instr and log.rewrite("equal", instr, kept):
                    plan[instr] = kept
            return rebuild(computation, plan)

        return rebuild_module(module, change)


def caught(pass_):
    """Whether any of many random modules shows that the pass is wrong."""
    for seed in range(400):
        random = Random(seed)
        before = random_module(random)
        given = [nasty(p.shape, random) for p in before.entry.parameters]
        failure = find_failure(pass_, before, given)
        if failure is not None:
            return smallest(pass_, failure)
    return None


@pytest.mark.parametrize("change", WRONG_CHANGES, ids=lambda change: change.__name__)
def test_wrong_change_is_caught(change):
    failure = caught(Planted(change))
    assert failure is not None
    assert len(failure.before.entry.instructions) <= 12, "the counterexample is not shrunk"


@pytest.mark.parametrize("pass_", [Thirsty(), Forgetful()], ids=lambda pass_: pass_.name)
def test_wrong_pass_is_caught(pass_):
    assert caught(pass_) is not None


def test_right_pass_is_not_accused():
    assert caught(Dce()) is None
