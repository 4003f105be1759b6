"""`hlo check` can be trusted both ways: it finds wrong rules and passes, and lets right ones go.

Half of the wrong ones keep every ordinary value: they break NaN, zeros, the ends of a type, an
order that nothing shows, or a hint.
"""

import pytest
from strategies.wrong import floats, indices, integers, order, right

from hlo_tools.own_passes import Applied
from hlo_tools.search.checking.search import search
from optimizer.rewriting.rule import RuleSet

MODULES = 200
SEEDS = range(1, 5)
# So many are tried in each run of the tests; the slow tests try all, with more seeds.
SAMPLE = slice(None, None, 5)


def passes_of(*tables):
    rules = [rule for table in tables for rule in getattr(table, "RULES", ())]
    found = [Applied(rule.name, RuleSet([rule])) for rule in rules]
    return [*found, *(each for table in tables for each in getattr(table, "PASSES", ()))]


WRONG, RIGHT = passes_of(floats, integers, indices, order), passes_of(right)


def name_of(pass_):
    return pass_.name if hasattr(pass_, "name") else None


def is_found(wrong, seed):
    failure, tally = search(wrong, MODULES, seed)
    assert failure is not None, f"not found: it changes {tally.changed} of {tally.modules} modules"


def is_let_go(pass_, seed):
    failure, tally = search(pass_, MODULES, seed)
    assert failure is None, str(failure)
    assert tally.compared > MODULES // 10


def test_there_are_as_many_as_promised():
    assert len(WRONG) >= 200
    assert len(RIGHT) >= 60
    assert 2 * len(passes_of(floats, order)) > len(WRONG)
    assert len({each.name for each in WRONG + RIGHT}) == len(WRONG + RIGHT)


@pytest.mark.parametrize("wrong", WRONG[SAMPLE], ids=name_of)
def test_wrong_is_found(wrong):
    is_found(wrong, 0)


@pytest.mark.parametrize("right", RIGHT[::20], ids=name_of)
def test_right_is_let_go(right):
    is_let_go(right, 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *SEEDS])
@pytest.mark.parametrize("wrong", WRONG, ids=name_of)
def test_wrong_is_found_from_any_seed(wrong, seed):
    is_found(wrong, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *SEEDS])
@pytest.mark.parametrize("right", RIGHT, ids=name_of)
def test_right_is_let_go_from_any_seed(right, seed):
    is_let_go(right, seed)
