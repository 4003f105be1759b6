"""Every pass on random modules: same values, well-formed, nothing left for a second run.

A pass that may change floats by more than their bits is tried on integers and preds only, which it
must keep exactly, since nothing bounds what a rounding error becomes further down.
"""

from functools import cache
from random import Random

import pytest
from hypothesis import settings
from strategies.equal import nameless

import hlo
from hlo.types.element_type import ELEMENT_TYPES
from hlo.verify import verify
from hlo_tools.generate.modules import random_module
from hlo_tools.generate.random_shapes import TYPES
from hlo_tools.generate.values import nasty
from hlo_tools.search.checking.failure import find_failure
from hlo_tools.search.checking.search import smallest
from interpreter import evaluate
from interpreter.numbers.compare import BITS, ROUNDING, compare
from optimizer import PASSES, Log, parse_pipeline, pipeline
from optimizer.observers import promise_of

EXACT_TYPES = tuple(
    ELEMENT_TYPES[name] for name in ("pred", "s4", "s8", "s32", "s64", "u4", "u8", "u32")
)
KEEPING = sorted(name for name, made in PASSES.items() if not hasattr(made, "transforms"))
RUNS = [
    *KEEPING,
    *(f"{name}{{strict=true}}" for name in KEEPING if hasattr(PASSES[name], "strict")),
]
BY_PASS = pytest.mark.parametrize("text", RUNS)


@cache
def example(seed, types):
    """A random module, the same for all passes, and arguments; in the order in which it reads."""
    random = Random(seed)
    made = hlo.parse(str(random_module(random, types=types)))
    return made, [nasty(p.shape, random) for p in made.entry.parameters]


def examples(types):
    return (example(seed, types) for seed in range(settings.default.max_examples))


@BY_PASS
def test_pass_is_right(text):
    """It raises nothing, keeps values, makes well-formed modules, is stable, and obeys fuel."""
    run = parse_pipeline(text).passes[0]
    exact = promise_of(run) == BITS
    for before, given in examples(TYPES if exact else EXACT_TYPES):
        failure = find_failure(run, before, given)
        assert failure is None, str(smallest(run, failure))


@BY_PASS
def test_result_is_well_formed(text):
    """Any result verifies, reads back as it prints, and fuel that suffices changes nothing."""
    run = parse_pipeline(text)
    for before, _ in examples(TYPES):
        log = Log()
        after = run.run(before, log)
        if after is before:
            continue
        verify(after)
        printed = str(after)
        assert str(hlo.parse(str(hlo.parse(printed)))) == str(hlo.parse(printed))
        assert str(run.run(before, Log(fuel=log.numbers))) == printed


def leaves(pass_):
    """The passes that a pipeline consists of, those of pipelines in it included."""
    inner = getattr(pass_, "passes", None)
    return [pass_] if inner is None else [leaf for each in inner for leaf in leaves(each)]


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_strict_pipeline_has_only_passes_that_keep_every_bit(target):
    assert {promise_of(p) for p in leaves(pipeline(target, strict=True))} == {BITS}
    assert {promise_of(p) for p in leaves(pipeline(target))} == {BITS, ROUNDING}


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_strict_pipeline_keeps_every_bit(target):
    run = pipeline(target, strict=True)
    for before, given in examples(TYPES):
        after = run.run(before)
        verify(after)
        broken = compare(evaluate(after, *given), evaluate(before, *given))
        assert broken is None, f"{broken}\n{before}\n{after}"


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_pipeline_keeps_integers(target):
    for before, given in examples(EXACT_TYPES):
        after = pipeline(target).run(before)
        broken = compare(evaluate(after, *given), evaluate(before, *given))
        assert broken is None, f"{broken}\n{before}\n{after}"


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_pipeline_changes_names_at_most_the_second_time(target):
    """Dots are taken apart and put together again, but what comes out is the same."""
    run = pipeline(target, fuse=False)
    for before, _ in examples(TYPES):
        once = run.run(before)
        assert nameless(run.run(once)) == nameless(once)
