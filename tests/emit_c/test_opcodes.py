"""Opcodes that are no single expression: C gives what the interpreter gives."""

import pytest
from strategies.compiled import ADD, check, entry

from interpreter.numbers.compare import ROUNDING

LESS = """less { a = {T}[] parameter(0)  b = {T}[] parameter(1)  c = s32[] parameter(2)
  d = s32[] parameter(3)  ROOT l = pred[] compare(a, b), direction=LT }"""


def test_scatter_drops_what_does_not_fit_and_combines_the_rest():
    text = entry("""x = f32[4,3] parameter(0)
i = s32[6,1] parameter(1)
u = f32[6,3] parameter(2)
ROOT r = f32[4,3] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},
  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add""", ADD)  # fmt: skip
    check(text.replace("{T}", "f32"), ROUNDING)


@pytest.mark.parametrize("element_type", ["f32", "bf16", "s32"])
@pytest.mark.parametrize("axis", [0, 1])
def test_sort_is_stable_and_carries_others_along(element_type, axis):
    text = f"""x = {{T}}[17,33] parameter(0)
n = s32[17,33] iota(), iota_dimension={axis}
ROOT r = ({{T}}[17,33], s32[17,33]) sort(x, n), dimensions={{{axis}}}, to_apply=less"""
    check(entry(text, LESS).replace("{T}", element_type))


@pytest.mark.parametrize("largest", ["true", "false"])
def test_topk(largest):
    check(
        entry(f"""x = bf16[3,40] parameter(0)
ROOT r = (bf16[3,5], s32[3,5]) topk(x), k=5, largest={largest}""")
    )


@pytest.mark.parametrize("algorithm", ["rng_three_fry", "rng_philox", "rng_default"])
@pytest.mark.parametrize("data", ["u32[5,6]", "u32[7]", "u64[5]", "u8[9]", "s4[3]", "u32[]"])
def test_random_bits(algorithm, data):
    state = "u64[2]" if algorithm == "rng_three_fry" else "u64[3]"
    check(
        entry(f"""s = {state} parameter(0)
ROOT r = ({state}, {data}) rng-bit-generator(s), algorithm={algorithm}""")
    )


@pytest.mark.parametrize("state", ["u64[2]", "u32[6]"])
def test_random_bits_without_the_next_state(state):
    check(
        entry(f"""s = {state} parameter(0)
ROOT r = u32[5] rng-bit-generator(s), algorithm=rng_philox""")
    )
