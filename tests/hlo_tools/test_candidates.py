"""Modules that are made for a pass: how many of them it changes, and how many of its rules apply.

Neither may sink below its floor, or `hlo check` says "right" of what it never saw at work. The slow
tests print both tables.
"""

import sys
from collections import Counter
from random import Random

import pytest

from hlo import parse
from hlo.verify import verify
from hlo_tools.search.checking.aim import aim_of
from hlo_tools.search.checking.candidates import Candidates, is_sound
from hlo_tools.search.checking.search import Rewrites, search
from hlo_tools.values.bounded import devices_of, rounds
from optimizer import PASSES, Log, parse_pipeline
from optimizer.observers import promise_of
from optimizer.rules import ALL_RULES

MODULES = 80
# Of so many modules a pass changes at least this many.
FLOOR = 6
# These do nothing to small modules unless they are told to.
OPTIONS = {
    "reduce-window-rewriter": "{base-length=4}",
    "rematerialization": "{memory-limit-bytes=100}",
}
# One only warns, one computes something else, one is for modules of several devices.
NEVER = {"unstable-reduction-detector", "batching", "reduce-scatter-creator"}


def changed_by(pass_, count, enough=None):
    """How many of so many modules a pass changes, and what it does how often.

    It ends as soon as there are enough.
    """
    candidates = Candidates(aim_of(pass_), Random(0), rounds=rounds(promise_of(pass_)))
    changed, done = 0, Counter()
    for _, module in zip(range(count), candidates, strict=False):
        verify(module)
        seen = Rewrites()
        try:
            after = pass_.run(module, Log([seen]))
        except Exception:
            continue
        if after is not module:
            candidates.keep(module)
            changed += 1
        done.update(seen.rules)
        if changed == enough:
            break
    return changed, done


def tell(line):
    sys.stderr.write(f"{line}\n")


@pytest.mark.parametrize("name", sorted(PASSES.keys() - NEVER))
def test_every_pass_has_something_to_do(name):
    pass_ = parse_pipeline(name + OPTIONS.get(name, "")).passes[0]
    changed, _ = changed_by(pass_, MODULES, FLOOR)
    assert changed >= FLOOR, f"{name} changes {changed} of {MODULES} modules"


def test_collectives_meet_on_one_device_and_on_several():
    pass_ = parse_pipeline("async-collective-creator").passes[0]
    candidates = Candidates(aim_of(pass_), Random(0), rounds=False)
    counts = Counter(devices_of(m) for _, m in zip(range(60), candidates, strict=False))
    assert min(counts[1], counts.total() - counts[1]) > 5


def test_no_opcode_is_without_meaning_for_its_type():
    text = "HloModule m ENTRY e { x = TYPE[] parameter(0)  ROOT m = TYPE[] maximum(x, x) }"
    assert [is_sound(parse(text.replace("TYPE", kind))) for kind in ("f32", "c64")] == [True, False]


def test_most_rules_apply_to_few_modules():
    # Which modules come first depends on the golden cases that there are, and each element type
    # that a rule takes has its share: 236 of 377 rules apply to the first 200.
    _, done = changed_by(parse_pipeline("algebraic-simplifier").passes[0], 200)
    applied = {rule.name for rule in ALL_RULES} & done.keys()
    assert len(applied) >= 0.6 * len(ALL_RULES.rules)


@pytest.mark.slow
def test_nearly_every_rule_applies(capsys):
    """Each in a few hundred modules; the table says which are rare."""
    _, done = changed_by(parse_pipeline("algebraic-simplifier").passes[0], 2000)
    never = [rule.name for rule in ALL_RULES if not done[rule.name]]
    with capsys.disabled():
        for rule in sorted(ALL_RULES, key=lambda rule: done[rule.name]):
            tell(f"{done[rule.name]:7,}  {rule.name}")
    assert len(never) <= 0.1 * len(ALL_RULES.rules), never


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PASSES.keys() - NEVER))
def test_values_are_compared(name, capsys):
    """What a pass changes can be run before and after."""
    pass_ = parse_pipeline(name + OPTIONS.get(name, "")).passes[0]
    _, tally = search(pass_, 60)
    with capsys.disabled():
        tell(f"{name:36} {tally.modules:4} modules, {tally.changed:3} changed")
    assert tally.compared >= 0.5 * tally.changed
