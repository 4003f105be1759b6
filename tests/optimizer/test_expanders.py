"""Expanders on the inputs of their golden cases, but with all the values that usually go wrong.

The golden cases show what comes out and try ordinary numbers; here come NaN, zeros of both signs,
infinities, extremes. An expander that promises the bits must keep them.
"""

from pathlib import Path
from random import Random

import pytest

import hlo
from hlo_tools.generate.values import nasty
from interpreter import evaluate
from interpreter.compare import BITS, compare
from optimizer import PASSES, parse_pipeline
from optimizer.observers import promise_of

CASES = Path(__file__).parents[1] / "cases"
EXPANDERS = {
    name: p for name, p in PASSES.items() if p.__module__.startswith("optimizer.expanders.")
}
EXACT = [name for name, pass_ in EXPANDERS.items() if promise_of(pass_()) == BITS]
# The opcodes that must be gone after a pass, wherever there are golden cases with them.
REMOVES = {
    "batchnorm_expander": {"batch-norm-training", "batch-norm-inference", "batch-norm-grad"},
    "cse_barrier_expander": {"opt-barrier"},
    "gather_expander": {"gather"},
    "logistic-expander": {"logistic"},
    "ragged-dot-rewriter": {"ragged-dot"},
    "rng-bit-generator-expander": {"rng-bit-generator"},
    "rng-expander": {"rng"},
    "scaled-dot-rewriter": {"scaled-dot"},
    "scan_expander": {"scan"},
    "scatter_expander": {"scatter"},
    "select_and_scatter_expander": {"select-and-scatter"},
    "stochastic_convert_decomposer": {"stochastic-convert"},
    "topk-decomposer": {"topk"},
}


def cases(name):
    """The inputs of a pass's golden cases."""
    for path in sorted((CASES / name).glob("*.hlo")):
        yield hlo.parse(path.read_text().partition("// EXPECT\n")[0])


def test_every_expander_has_cases():
    assert [name for name in EXPANDERS if not list(cases(name))] == []


@pytest.mark.parametrize("name", sorted(EXACT))
def test_bits_are_kept(name):
    run = parse_pipeline(name)
    for before in cases(name):
        after = run.run(before)
        for seed in range(20):
            random = Random(f"{name}/{seed}")
            given = [nasty(p.shape, random) for p in before.entry.parameters]
            broken = compare(evaluate(after, *given), evaluate(before, *given))
            assert broken is None, f"{broken}\n{before}\n{after}"


@pytest.mark.parametrize("name", sorted(REMOVES))
def test_opcode_is_gone(name):
    for before in cases(name):
        after = parse_pipeline(name).run(before)
        assert after is not before
        assert not {i.opcode for i in after.instructions()} & REMOVES[name]
