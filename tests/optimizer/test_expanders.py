"""Expanders on the inputs of their golden cases, but with all the values that usually go wrong.

The golden cases show what comes out and try ordinary numbers; here come NaN, zeros of both signs,
infinities, extremes. An expander that promises the bits must keep them.
"""

from pathlib import Path
from random import Random

import pytest
from hypothesis import settings

import hlo
from hlo.types.element_type import BF16, F8E5M2, F16, F32
from hlo_tools.generate.modules import random_module
from hlo_tools.generate.values import nasty
from interpreter import evaluate
from interpreter.numbers.compare import BITS, compare
from optimizer import PASSES, parse_pipeline, pipeline
from optimizer.expanders.precision.float_normalization import COMPUTES, SUPPORTED
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
            given = [
                [nasty(p.shape, random) for p in before.entry.parameters]
                for _ in range(before.header.replica_count)
            ]
            found, want = (evaluate(module, per_device=given) for module in (after, before))
            for one, other in zip(found, want, strict=True):
                broken = compare(one, other)
                assert broken is None, f"{broken}\n{before}\n{after}"


@pytest.mark.parametrize("name", sorted(REMOVES))
def test_opcode_is_gone(name):
    for before in cases(name):
        after = parse_pipeline(name).run(before)
        assert after is not before
        assert not {i.opcode for i in after.instructions()} & REMOVES[name]


RANDOM_BITS = """HloModule bits
ENTRY main {{
  s = {state} parameter(0)
  ROOT r = ({state}, u32[3]) rng-bit-generator(s), algorithm=rng_philox
}}"""


@pytest.mark.parametrize("state", ["u32[5]", "s32[]", "u32[0]", "u64[4]", "u4[32]", "c64[2]"])
@pytest.mark.parametrize("name", ["rng-bit-generator-canonicalizer", "rng-bit-generator-expander"])
def test_a_state_of_which_no_bits_follow_stays(name, state):
    before = hlo.parse(RANDOM_BITS.format(state=state))
    assert parse_pipeline(name).run(before) is before


POOLING = """HloModule pooling
ge {{
  a = {kind}[] parameter(0)
  b = {kind}[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=GE
}}
add {{ p = {kind}[] parameter(0)  q = {kind}[] parameter(1)  ROOT s = {kind}[] add(p, q) }}
ENTRY main {{
  x = {kind}[{n},3] parameter(0)
  g = {kind}[{windows},3] parameter(1)
  i = {kind}[] parameter(2)
  ROOT y = {kind}[{n},3] select-and-scatter(x, g, i), select=ge, scatter=add,
    window={{size={size}x1 stride={stride}x1 pad={low}_{high}x0_0}}
}}"""


@pytest.mark.parametrize("kind", ["f32", "bf16", "s32"])
def test_elements_look_at_windows_in_their_order(kind):
    """Sums of gradients have the very bits: they are added up as windows come."""
    run = parse_pipeline("select_and_scatter_expander{most-windows=3}")
    for seed in range(40):
        random = Random(seed)
        n, size, stride = random.randint(4, 9), random.randint(1, 4), random.randint(1, 3)
        low, high = random.randint(0, size - 1), random.randint(0, size - 1)
        windows = (n + low + high - size) // stride + 1
        sizes = {"n": n, "size": size, "stride": stride, "low": low, "high": high}
        text = POOLING.format(kind=kind, windows=windows, **sizes)
        before = hlo.parse(text)
        after = run.run(before)
        scatters = {i.opcode for i in after.instructions()} & {"scatter", "select-and-scatter"}
        assert bool(scatters) == (size > 3 * stride)
        given = [nasty(p.shape, random) for p in before.entry.parameters]
        assert compare(evaluate(after, *given), evaluate(before, *given)) is None, text


@pytest.mark.parametrize("backend", sorted(SUPPORTED))
def test_small_floats_are_computed_where_they_are_supported(backend):
    """Nothing computes in a small float that the backend lacks, and every bit stays."""
    run = parse_pipeline(f"float-normalization{{backend={backend}}}")
    for seed in range(settings.default.max_examples):
        random = Random(seed)
        before = hlo.parse(str(random_module(random, types=(BF16, F16, F8E5M2, F32))))
        after = run.run(before)
        computing = [i for i in after.instructions() if i.opcode in COMPUTES]
        shapes = [x.shape for i in computing for x in (i, *i.operands)]
        small = {s.element_type.name for s in shapes if s.element_type.bits <= 16} - {"pred"}
        assert small <= SUPPORTED[backend]
        given = [nasty(p.shape, random) for p in before.entry.parameters]
        assert compare(evaluate(after, *given), evaluate(before, *given)) is None


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_turns_of_a_scan_call_nothing(target):
    """The pipelines inline what an expander calls, so that nothing is left for a second run."""
    for before in cases("scan_expander"):
        after = pipeline(target).run(before)
        assert not any(i.opcode in ("scan", "call") for i in after.instructions())
