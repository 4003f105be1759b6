"""`hlo check` finds wrong passes that keep the value of nearly every module."""

import pytest
from strategies.subtle import PASSES, RULES

from hlo_tools.own_passes import Applied
from hlo_tools.search.checking.search import search
from optimizer.rewriting.rule import RuleSet

WRONG = (*PASSES, *(Applied(rule.name, RuleSet([rule])) for rule in RULES))
MODULES = 200


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_subtle_fault_is_found(wrong):
    failure, tally = search(wrong, MODULES)
    assert failure is not None, f"not found: it changes {tally.changed} of {tally.modules} modules"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_subtle_fault_is_found_from_any_seed(wrong, seed):
    failure, _ = search(wrong, 2 * MODULES, seed)
    assert failure is not None
