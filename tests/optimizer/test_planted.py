"""The tests of rules are tested: wrong ones are planted, and must be caught.

`tests/hlo_tools/test_planted_passes.py` has `hlo check` find them, and wrong passes too.
"""

import numpy as np
import pytest
from strategies import rule_checks
from strategies.planted import RULES

import hlo
from hlo.errors.error import HloError
from hlo_tools.generate.trials import Trial, WrongShapeError, is_rounding_of_terms
from interpreter.numbers.compare import ROUNDING
from optimizer.rewriting.guards import is_floating, is_integer
from optimizer.rewriting.pattern import (
    add,
    negate,
    x,
)
from optimizer.rewriting.rule import Rule


@pytest.mark.parametrize("wrong", RULES, ids=lambda wrong: wrong.name)
def test_wrong_rule_is_caught(wrong):
    with pytest.raises((AssertionError, WrongShapeError, HloError), match=r"differ|HLO|shape"):
        check_rule(wrong)


def check_rule(checked):
    rule_checks.check_promise(checked, 60)
    if rule_checks.has_few_values(checked):
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
    assert Trial(before, rounded, given).difference(ROUNDING) is not None
    assert is_rounding_of_terms(Trial(before, rounded, given))
    assert not is_rounding_of_terms(Trial(before, changed, given))


def test_rule_that_never_fits_is_caught():
    with pytest.raises(AssertionError, match="no instance"):
        rule_checks.check_promise(Rule(add(x, 0), x, where=is_integer(x) & is_floating(x)))
