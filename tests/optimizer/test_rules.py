"""Every rule: its promise holds, the next stronger one does not, and integers are proved.

Nothing here knows a rule by name; see `strategies.rule_checks`.
"""

import pytest
from strategies.rule_checks import (
    check_next_stronger,
    check_promise,
    has_few_values,
    prove_for_small_floats,
    prove_for_small_integers,
)

from interpreter.numbers.compare import BITS
from optimizer.catalogue import all_rules

RULES = all_rules()


def each(rules):
    return pytest.mark.parametrize("rule", rules, ids=[rule.name for rule in rules])


@each(RULES)
def test_promise_holds(rule):
    check_promise(rule)


@each([rule for rule in RULES if rule.promise != BITS])
def test_next_stronger_promise_fails(rule):
    check_next_stronger(rule)


@each([rule for rule in RULES if has_few_values(rule)])
def test_proved_for_small_integers(rule):
    """All values of all variables, in pred and in types of four bits, where the rule applies."""
    prove_for_small_integers(rule)


@each([rule for rule in RULES if has_few_values(rule)])
def test_tried_on_all_small_floats(rule):
    prove_for_small_floats(rule)
