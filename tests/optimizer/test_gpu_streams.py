"""Streams, asynchronous pairs and schedules for the GPU: same values, and less waiting."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hlo
from hlo.verify import verify
from hlo_tools.options.inputs import deal
from hlo_tools.values.arrays import load
from interpreter import evaluate
from interpreter.numbers.compare import compare
from optimizer import optimize, parse_pipeline
from optimizer.gpu.device import A100, COMPUTE, NETWORK
from optimizer.gpu.timeline import picture, simulate

MODELS = Path(__file__).parents[1] / "models"
PASSES = "async-collective-creator,async-wrapper,latency-hiding-scheduler"


def ends(module):
    return max(span.end for span in simulate(module.entry.instructions, A100))


@pytest.mark.parametrize("name", ["attention", "data_parallel_step", "mlp_train_step"])
def test_models_keep_their_values_and_wait_no_longer(name):
    path = MODELS / f"{name}.hlo"
    before = optimize(hlo.parse(path.read_text()), "gpu")
    after = parse_pipeline(PASSES).run(before)
    verify(after)
    assert ends(after) <= ends(before)
    shapes = [p.shape for p in before.entry.parameters]
    devices = before.header.num_partitions
    inputs = deal(load(str(path.with_suffix(".npz")), "in"), shapes, devices)
    want, got = (evaluate(m, per_device=inputs) for m in (before, after))
    assert compare(tuple(got), tuple(want)) is None


OVERLAP = """HloModule m, replica_count=2
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY e {
  x = f32[64,64] parameter(0)
  d = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  late = f32[64,64] all-reduce(d), replica_groups={{0,1}}, to_apply=add
  early = f32[64,64] all-reduce(x), replica_groups={{0,1}}, to_apply=add
  ROOT t = (f32[64,64], f32[64,64]) tuple(late, early)
}"""


def test_collectives_hide_behind_kernels():
    """What depends on nothing goes over the network first, while the product is computed."""
    before = hlo.parse(OVERLAP)
    after = parse_pipeline(PASSES).run(before)
    names = [i.name for i in after.entry.instructions if "start" in i.opcode]
    assert names == ["all-reduce-start.1", "all-reduce-start"]
    spans = {span.instr.name: span for span in simulate(after.entry.instructions, A100)}
    assert spans["all-reduce-start.1"].start == spans["d"].start == 0
    assert ends(after) < ends(before)


def chains(depths):
    """A module of chains of small dots that meet at the end."""
    lines, ends = ["  x = f32[8,8] parameter(0)"], []
    for chain, depth in enumerate(depths):
        last = "x"
        for step in range(depth):
            name = f"d{chain}_{step}"
            lines.append(
                f"  {name} = f32[8,8] dot({last}, x), "
                "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
            )
            last = name
        ends.append(last)
    shapes = ", ".join("f32[8,8]" for _ in ends)
    lines.append(f"  ROOT t = ({shapes}) tuple({', '.join(ends)})")
    return hlo.parse("HloModule m\nENTRY e {\n" + "\n".join(lines) + "\n}")


@given(depths=st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_a_simulated_run_is_possible(depths):
    """Lanes run one thing at a time, nothing runs before its operands, all run."""
    before = chains(depths)
    after = parse_pipeline(PASSES).run(before)
    spans = simulate(after.entry.instructions, A100)
    assert len(spans) == sum(depths)
    ready = {}
    for span in spans:
        ready[span.instr] = span.end
        for other in spans:
            if other is not span and other.lane == span.lane:
                assert other.end <= span.start or span.end <= other.start
    for instr in after.entry.instructions:
        needed = max((ready.get(o, 0.0) for o in instr.operands), default=0.0)
        starts = next((s.start for s in spans if s.instr is instr), needed)
        assert needed <= starts
        ready.setdefault(instr, needed)
    # A stream a chain, so the longest chain alone counts, give or take a wait for another stream.
    assert ends(after) <= ends(chains([max(depths)])) + 3e-6


def test_picture_shows_the_lanes():
    spans = simulate(chains([2]).entry.instructions, A100)
    assert [span.lane for span in spans] == [COMPUTE, COMPUTE]
    assert picture(spans).splitlines()[0].startswith("   compute [d0_0")
    module = hlo.parse((MODELS / "data_parallel_step.hlo").read_text())
    assert NETWORK in {span.lane for span in simulate(module.entry.instructions, A100)}
    assert picture(()).endswith("0.0 microseconds")


def test_a_box_of_many_says_what_they_are():
    """Kernels too short for a name: how many, and the opcodes as far as there is room."""
    opcodes = [*["negate", "cosine"] * 30, *["abs"] * 20, *["exponential"] * 9]
    opcodes += ["round-nearest-even"] * 3
    lines = [f"{op}.{k} = f32[2] {op}(x)" for k, op in enumerate(opcodes)]
    module = hlo.parse("\n".join(["ENTRY e { x = f32[2] parameter(0)", *lines, "}"]))
    lane, _ = picture(simulate(module.entry.instructions, A100)).splitlines()
    told = "92 instructions: 30 negate, 30 cosine, 20 abs, 9 exponential"
    assert lane == f"   compute [{told:<70}]"
