"""Kernels and modelled bytes of well-known functions, before and after fusion."""

from pathlib import Path

import pytest

import hlo
from hlo_tools.reasons.fusion import why_fused
from optimizer import optimize, parse_pipeline, pipeline
from optimizer.analysis.cost import cost, kernels, module_cost
from optimizer.fusion.instruction_fusion import planned
from optimizer.fusion.policy import CPU
from optimizer.log import Log

CASES = Path(__file__).parents[1] / "cases" / "fusion"

# Arrays of n = 8 * 16 floats are all that counts in bytes; images have 256.
X, ROW, COLUMN = 8 * 16 * 4, 8 * 4, 16 * 4
IMAGE, CHANNELS = 2 * 4 * 4 * 8 * 4, 8 * 4

ONE = {
    "sum_of_products": 3 * X + 4,
    "softmax": 2 * X,
    "layer_norm": 2 * X + 2 * COLUMN,
    "gelu": 2 * X,
    # The parameters, two moments and the gradient are read, all but that are written.
    "adam": 7 * X,
    # An image is read and written, two factors are read, two statistics are written.
    "batch_norm": 2 * IMAGE + 4 * CHANNELS,
    "batch_norm_gradient": 2 * IMAGE + 4 * CHANNELS,
}
# What goes through rows is one kernel, with a block a row. What a GPU's kernel folds otherwise, the
# next one uses: a kernel for each fold of the longest chain, and one for what comes after them.
CHAINS = {
    "sum_of_products": [3 * X + 4],
    "softmax": [ONE["softmax"]],
    "layer_norm": [ONE["layer_norm"]],
    "gelu": [2 * X],
    "adam": [7 * X],
    "batch_norm": [IMAGE + CHANNELS, IMAGE + 2 * CHANNELS, 2 * IMAGE + 4 * CHANNELS],
    # The mean; the variance; four sums that need both; one that needs one of these; y.
    "batch_norm_gradient": [
        IMAGE + CHANNELS,
        IMAGE + 2 * CHANNELS,
        IMAGE + 8 * CHANNELS,
        IMAGE + 4 * CHANNELS,
        2 * IMAGE + 7 * CHANNELS,
    ],
}


def case(name):
    """The input of a golden case."""
    return hlo.parse((CASES / f"{name}.hlo").read_text().partition("// EXPECT")[0])


@pytest.mark.parametrize(
    ("name", "count", "moved"),
    [
        # Three operands are read, one number is written.
        ("sum_of_products", 1, 3 * X + 4),
        # x to the largest; x, the largest to the exponentials; these to their sums; both to y.
        ("softmax", 4, (X + ROW) + (X + ROW + X) + (X + ROW) + (X + ROW + X)),
        # x to the mean; x, the mean to rsqrt of the variance; x, both, weight and bias to y.
        ("layer_norm", 3, (X + ROW) + (X + ROW + ROW) + (X + 2 * ROW + 2 * COLUMN + X)),
        ("gelu", 1, 2 * X),
    ],
)
def test_kernels_and_bytes_of_instruction_fusion(name, count, moved):
    fused = parse_pipeline("fusion").run(case(name))
    assert kernels(fused) == count
    assert module_cost(fused).bytes_accessed == moved


@pytest.mark.parametrize(("name", "moved"), ONE.items())
def test_one_kernel_reads_and_writes_each_array_once(name, moved):
    fused = parse_pipeline("fusion,multi-output-fusion").run(case(name))
    assert kernels(fused) == 1
    assert module_cost(fused).bytes_accessed == moved
    once = Log().run(parse_pipeline("multi-output-fusion"), fused)
    assert once is fused


@pytest.mark.parametrize("name", CHAINS)
def test_pipelines_leave_as_few_kernels_as_can_be(name):
    on_cpu, on_gpu = optimize(case(name), "cpu"), optimize(case(name), "gpu")
    assert (kernels(on_cpu), module_cost(on_cpu).bytes_accessed) == (1, ONE[name])
    moved = [cost(i).bytes_accessed for i in on_gpu.entry.instructions]
    assert sorted(filter(None, moved)) == sorted(CHAINS[name])
    assert kernels(on_gpu) == len(CHAINS[name])


def test_no_expensive_value_is_computed_twice():
    for path in CASES.glob("*.hlo"):
        module = case(path.stem)
        for computation in module.computations:
            planner = planned(module, computation, CPU)
            for instr, decision in planner.decisions.items():
                evaluations = [g.members[instr] for g in planner.computed_in[instr]]
                times = sum(sum(each.values()) for each in evaluations)
                assert not (decision and CPU.is_expensive(instr)) or times <= instr.shape.size


@pytest.mark.parametrize(
    ("name", "producer", "consumer", "rule"),
    [
        ("sum_of_products", "p", "s", "saves-memory"),
        ("sum_of_products", "p", "r", "saves-memory"),
        ("sum_of_products", "x", "s", "opcode"),
        ("sum_of_products", "x", "p", "no-user"),
        ("expensive_once", "e", "eb", "expensive"),
        ("expensive_once", "p", "r", "consumer"),
        ("in_place_update", "n", "r", "in-place"),
        ("in_place_update", "v", "r", "saves-memory"),
        ("two_kernels_share", "square", "rows", "saves-memory"),
        ("computed_and_stored", "ones", "lower", "saves-memory"),
        ("computed_and_stored", "ones", "scattered", "consumer"),
        ("two_kernels_share", "low", "low_rows", "multi-output"),
        ("control_dependency", "a", "d", "order"),
        ("loop", "%c", "%y", "saves-memory"),
        ("loop", "go", "w", "computation"),
    ],
)
def test_decisions_explain_themselves(name, producer, consumer, rule):
    decision = why_fused(case(name), producer, consumer)
    assert decision.rule == rule
    assert bool(decision) == (rule in ("saves-memory", "multi-output"))
    assert decision.text


def test_large_windows_have_loops_of_their_own():
    text = """HloModule m
sum {{ x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT s = f32[] add(x, y) }}
ENTRY e {{
  p = f32[8,40] parameter(0)
  n = f32[8,40] negate(p)
  zero = f32[] constant(0)
  w = f32[8,40] reduce-window(n, zero), window={{size=1x{size} pad=0_0x{pad}_0}}, to_apply=sum
  a = f32[8,40] abs(w)
  ROOT r = f32[8] reduce(a, zero), dimensions={{1}}, to_apply=sum
}}"""
    large = hlo.parse(text.format(size=40, pad=39))
    assert why_fused(large, "n", "w").rule == "consumer"
    assert why_fused(large, "w", "a").rule == "opcode"
    assert why_fused(hlo.parse(text.format(size=4, pad=3)), "n", "w")


def test_numbers_are_in_the_reason():
    text = str(why_fused(case("expensive_once"), "e", "eb"))
    assert "8 elements would be computed 136 times, in 2 kernels" in text
    module = case("two_kernels_share")
    decisions = planned(module, module.entry, CPU).decisions
    low = next(i for i in decisions if i.name == "low")
    assert "3 kernels would read 4608 bytes" in decisions[low].text


MERGES = CASES.parent / "multi-output-fusion"


@pytest.mark.parametrize(
    ("name", "one", "other", "target", "rule"),
    [
        ("siblings", "s", "q", "cpu", "multi-output"),
        ("siblings", "p", "s", "cpu", "multi-output"),
        ("producer_and_consumer", "e", "m", "cpu", "multi-output"),
        ("softmax", "reduce_max.7", "div.7", "cpu", "multi-output"),
        ("other_order", "e", "n", "cpu", "loops"),
        ("way_round", "n", "s", "cpu", "cycle"),
        ("changed_in_place", "a", "b", "cpu", "in-place"),
        ("rows_beyond_the_cache", "s", "d", "cpu", "cache"),
        ("gpu_policy", "s", "v", "gpu", "multi-output"),
        ("gpu_policy", "s", "y", "gpu", "folds"),
    ],
)
def test_merges_explain_themselves(name, one, other, target, rule):
    module = hlo.parse((MERGES / f"{name}.hlo").read_text().partition("// EXPECT")[0])
    decision = why_fused(module, one, other, target)
    assert decision.rule == rule
    assert bool(decision) == (rule == "multi-output")


FEW_AND_MANY = """
HloModule m
plus { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[64] parameter(0)
  y = f32[64,32] parameter(1)
  zero = f32[] constant(0)
  few = f32[64] negate(x)
  many = f32[64,32] broadcast(x), dimensions={0}
  sums = f32[64] reduce(y, zero), dimensions={1}, to_apply=plus
  total = f32[] reduce(y, zero), dimensions={0,1}, to_apply=plus
  ROOT t = (f32[64], f32[64,32], f32[64], f32[]) tuple(few, many, sums, total)
}
"""


@pytest.mark.parametrize(("one", "other"), [("few", "many"), ("sums", "total")])
def test_other_numbers_of_turns_need_no_nest(one, other):
    decision = why_fused(hlo.parse(FEW_AND_MANY), one, other)
    assert (decision.fused, decision.rule) == (False, "trip_count")


def test_the_gpu_weighs_seconds():
    module = hlo.parse(
        (CASES.parent / "priority-fusion" / "saves_a_launch.hlo").read_text().partition("// EX")[0]
    )
    decision = why_fused(module, "e", "n", "gpu")
    assert decision
    assert "would take 2.008 us with %e inside, 3.012 us" in decision.text


def test_numbers_of_merges_are_in_the_reason():
    module = hlo.parse((MERGES / "siblings.hlo").read_text().partition("// EXPECT")[0])
    text = str(why_fused(module, "s", "q"))
    assert f"2 results reads and writes {X} bytes less" in text
    module = hlo.parse((MERGES / "rows_beyond_the_cache.hlo").read_text().partition("// EX")[0])
    assert "2 sweeps over rows of 2097152 bytes" in str(why_fused(module, "s", "d"))


def test_unknown_instruction_is_refused():
    with pytest.raises(hlo.HloError, match="HLO158"):
        why_fused(case("loop"), "nobody", "w")


def chain(opcode, length, type_="f32[4]"):
    """A chain of operations on two parameters."""
    lines = [f"a{i + 1} = {type_} {opcode}(a{i}, y)" for i in range(length)]
    body = "\n".join(lines[:-1])
    return hlo.parse(
        f"HloModule m\nENTRY e {{\na0 = {type_} parameter(0)\ny = {type_} parameter(1)\n{body}\n"
        f"ROOT {lines[-1]}\n}}"
    )


def test_kernels_have_bounds():
    """A chain longer than the bound is cut, and no piece is over it."""
    fused = parse_pipeline("fusion").run(chain("add", CPU.code + 500))
    assert kernels(fused) == 2
    bodies = [i.called[0] for i in fused.entry.instructions if i.opcode == "fusion"]
    assert all(len(b.instructions) <= CPU.code + CPU.operands for b in bodies)


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_standard_pipelines_end_with_fusion(target):
    module = case("sum_of_products")
    assert kernels(pipeline(target).run(module)) == 1
    assert kernels(pipeline(target, fuse=False).run(module)) == 3
