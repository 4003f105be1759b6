"""Instructions of each opcode, with random attributes and shardings, divided among devices."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hlo
from hlo_tools.generate.values import nasty, small
from interpreter.numbers.compare import ROUNDING, ZERO_SIGN
from tests.divisible import MAKERS, random_instruction
from tests.random_shardings import in_region, sharded
from tests.sharded import HEADER, call, check, values

MESHES = ((2, 2, 2), (2, 2, 2), (2, 3), (4, 2), (3,), (5,))
# Sums of whole numbers are the same in any order; these round.
ROUNDED = {
    "batch-norm-grad", "batch-norm-inference", "batch-norm-training", "cholesky", "fft",
    "triangular-solve",
}  # fmt: skip
# Whole numbers only: rows that are not there may be selected among NaN (`partitioning.pooling`).
WHOLE = {"select-and-scatter"}
FEW = settings(max_examples=max(2, settings().max_examples // 25))


def is_divided_right(module: hlo.Module, opcode: str, random: Random) -> None:
    """Whether each device has its part of the value of all."""
    whole = opcode in WHOLE or random.random() < 0.5
    arguments = [(small if whole else nasty)(p.shape, random) for p in module.entry.parameters]
    check(module, arguments, ZERO_SIGN if whole and opcode not in ROUNDED else ROUNDING)


@pytest.mark.parametrize("opcode", sorted(MAKERS))
@FEW
@given(seed=st.integers(0, 2**30))
def test_an_instruction_is_divided(opcode: str, seed: int) -> None:
    random = Random(f"{opcode}/{seed}")
    module = sharded(random_instruction(opcode, random), random, random.choice(MESHES))
    try:
        hlo.verify(module)
    except hlo.HloError:
        # Roots of branches must be sharded alike.
        return
    is_divided_right(module, opcode, random)


@pytest.mark.parametrize("opcode", sorted(MAKERS))
@FEW
@given(seed=st.integers(0, 2**30))
def test_an_instruction_of_a_region_is_divided(opcode: str, seed: int) -> None:
    """Devices of other axes than the region's run its instruction together."""
    random = Random(f"{opcode}/{seed}")
    module = in_region(random_instruction(opcode, random), random)
    if module is not None:
        is_divided_right(module, opcode, random)


def test_blocks_of_a_region_s_block_may_be_uneven() -> None:
    """6 rows on 4 devices: rows past the end of a block would lie amid those of the whole array."""
    cut = call("in", "x", "f32[6]", "<@mesh, [{}]>", '"x"')
    join = call("out", "y", "f32[12]", '<@mesh, [{"x"}]>', '"x"')
    module = hlo.parse(f"""{HEADER}ENTRY e {{
  x = f32[6] parameter(0)
  local = {cut}
  y = f32[6] negate(local), sharding={{devices=[4,2]<=[2,4]T(1,0) last_tile_dims={{manual}}}}
  ROOT whole = {join}
}}""")
    check(module, values(module))


def test_a_call_is_sharded_as_itself_says() -> None:
    """Its body, which takes its place, has operands that are cut further."""
    module = hlo.parse("""HloModule m, num_partitions=4
body {
  a = f32[6,8] parameter(0)
  ROOT s = f32[6,8] add(a, a)
}
ENTRY e {
  x = f32[6,8] parameter(0), sharding={devices=[2,2]<=[4]}
  ROOT c = f32[6,8] call(x), to_apply=body, sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
}""")
    made = check(module, values(module))
    assert made.entry.root.shape.dims == (3, 8)


def test_the_state_of_a_loop_that_is_the_result() -> None:
    """It is whole, as the result is, whatever sharding its body would like."""
    module = hlo.parse("""HloModule m, num_partitions=2
condition {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(2)
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  x = f32[4] get-tuple-element(s), index=1, sharding={devices=[2]<=[2]}
  y = f32[4] add(x, x)
  ROOT r = (s32[], f32[4]) tuple(j, y)
}
ENTRY e {
  o = s32[] constant(0)
  x = f32[4] parameter(0)
  t = (s32[], f32[4]) tuple(o, x)
  ROOT w = (s32[], f32[4]) while(t), condition=condition, body=body
}""")
    check(module, values(module))
