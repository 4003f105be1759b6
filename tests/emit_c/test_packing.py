"""Kernels that are constants: packed once, and the same sums."""

import numpy as np
import pytest
from emitted import checked
from hypothesis import given
from hypothesis import strategies as st
from products import FEW, PLAIN, product, spelled

from codegen.statements import Call, own_names
from emit_c.contraction.tiles import Tile


def numbers(dims, seed):
    return np.random.default_rng(seed).integers(-2, 3, dims)


def packed(shape, kernel, result, kind="f32", how=PLAIN, *, opcode="dot", target=None):
    """What C is made of that multiplies with a constant as the interpreter does."""
    weights = f"constant({spelled(numbers(kernel, 0))})"
    texts = (
        f"{each}[{','.join(map(str, dims))}]"
        for each, dims in ((kind, shape), (kind, kernel), (target or kind, result))
    )
    module = product(*texts, how, opcode=opcode, given=("parameter(0)", weights))
    return checked(module, arguments=FEW)


BATCH = "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}"


@given(st.data())
def test_dots(data):
    kind = data.draw(st.sampled_from(["f32", "f32", "bf16", "f64", "s32"]))
    m, k, n = (data.draw(st.sampled_from([5, 17, 33, 70, 100])) for _ in range(3))
    made = packed((m, k), (k, n), (m, n), kind)
    # A tile may read the constant in place, beside the parameter that is packed.
    copies = [s for s in made.nested if not (isinstance(s, Call) and isinstance(s.function, Tile))]
    assert not any({"packed", "y"} <= set(own_names(s)) for s in copies)


def test_panels_of_large_kernels():
    assert not packed((70, 512), (512, 320), (70, 320)).has("panel")


CONVOLVED = (2, 14, 14, 8), (3, 3, 8, 24)
LABELS = "dim_labels=b01f_01io->b01f"
CASES = {
    "bytes": ((70, 100), (100, 40), (70, 40), "s8", PLAIN, "dot", "s32"),
    "batches": ((3, 70, 40), (3, 40, 50), (3, 70, 50), "f32", BATCH, "dot", None),
    **{
        window: (*CONVOLVED, (2, size, size, 24), "f32",
                 f"window={{{window}}}, {LABELS}", "convolution", None)
        for window, size in {
            "size=3x3 pad=1_1x1_1": 14,
            "size=3x3 pad=1_1x1_1 rhs_reversal=1x1": 14,
            "size=3x3 pad=2_2x2_2 lhs_dilate=2x2": 29,
            "size=3x3 stride=2x2 pad=1_1x1_1": 7,
        }.items()
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_kernels_are_packed_before(name):
    *case, opcode, target = CASES[name]
    assert packed(*case, opcode=opcode, target=target).has("_packed")


def test_equal_layers_share_a_kernel():
    weights = [spelled(numbers((64, 64), seed)) for seed in (0, 1)]
    module = f"""HloModule m
ENTRY e {{
  p = f32[70,64] parameter(0)
  first = f32[64,64] constant({weights[0]})
  second = f32[64,64] constant({weights[1]})
  y = f32[70,64] dot(p, first), {PLAIN}
  ROOT z = f32[70,64] dot(y, second), {PLAIN}
}}"""
    made = checked(module, arguments=FEW)
    assert len(made.statements) == 2
    assert len(made.program.parts.entries) == 1


def test_one_number_is_no_array():
    module = f"""HloModule m
ENTRY e {{
  x = f32[70,64] parameter(0)
  c = f32[] constant(2)
  w = f32[64,64] broadcast(c), dimensions={{}}
  ROOT y = f32[70,64] dot(x, w), {PLAIN}
}}"""
    assert not checked(module, optimize=True, arguments=FEW).program.parts.constants
