"""Instructions that each of several devices runs on parts of their operands."""

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import hlo
from hlo.types.element_type import F32, PRED, S8, S32, U8, U64
from hlo_tools.generate.modules import random_module
from hlo_tools.generate.values import nasty
from interpreter.numbers.compare import BITS, ROUNDING, Promise
from tests.random_shardings import sharded
from tests.sharded import check, values

MOVING = (
    "concatenate", "convolution", "dot", "dynamic-slice", "dynamic-update-slice", "gather", "pad",
    "reduce", "reduce-window", "reverse", "scatter", "slice", "sort",
)  # fmt: skip
ROWS, COLUMNS, BOTH = "{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}", "{devices=[2,2]<=[4]}"
PAIRS = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"
SUM = "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"
LESS = (
    "less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
    "ROOT c = pred[] compare(a, b), direction=LT }\n"
)
MAX = "max { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] maximum(a, b) }\n"
ARGMAX = """argmax { a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  first = pred[] compare(a, b), direction=GE
  m = f32[] select(first, a, b)
  k = s32[] select(first, i, j)
  ROOT t = (f32[], s32[]) tuple(m, k) }
"""
# The root of each program of x and y, and what devices run in its place. f32[8,12] x is cut into
# four blocks of rows, f32[12,8] y into four of columns.
DIVIDED = {
    "elementwise": ("f32[8,12] add(x, w)", "f32[2,12] add"),
    "clamp": ("f32[8,12] clamp(n, x, n)", "f32[2,12] clamp"),
    "broadcast": ("f32[3,8,12] broadcast(x), dimensions={1,2}", "f32[3,2,12] broadcast"),
    "transpose": ("f32[12,8] transpose(x), dimensions={1,0}", "f32[12,2] transpose"),
    "split": ("f32[4,2,12] reshape(x)", "f32[1,2,12] reshape"),
    "joined": ("f32[96] reshape(x)", "f32[24] reshape"),
    "blocks": ("f32[4,24] reshape(x)", "f32[1,24] reshape"),
    "slice": ("f32[8,3] slice(x), slice={[0:8], [2:11:3]}", "f32[2,3] slice"),
    "pad": ("f32[8,15] pad(x, n), padding=0_0x1_2", "f32[2,15] pad"),
    "concatenate": ("f32[8,24] concatenate(x, w), dimensions={1}", "f32[2,24] concatenate"),
    "reverse": ("f32[8,12] reverse(x), dimensions={1}", "f32[2,12] reverse"),
    "sort": ("f32[8,12] sort(x), dimensions={1}, to_apply=less", "f32[2,12] sort"),
    "dynamic-slice": (
        "f32[8,5] dynamic-slice(x, i, i), dynamic_slice_sizes={8,5}", "f32[2,5] dynamic-slice",
    ),
    "dynamic-update-slice": (
        "f32[8,12] dynamic-update-slice(x, row, o, i)", "f32[2,12] dynamic-update-slice",
    ),
    "reduce-window": (
        "f32[8,4] reduce-window(x, o32), window={size=1x3 stride=1x3}, to_apply=sum",
        "f32[2,4] reduce-window",
    ),
    "rows are reduced": ("f32[8] reduce(x, o32), dimensions={1}, to_apply=sum", "f32[2] reduce"),
    "columns are reduced": (
        "f32[12] reduce(x, o32), dimensions={0}, to_apply=sum", "f32[12] all-reduce",
    ),
    "dot": (
        "f32[8,5] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "f32[2,5] dot",
    ),
    "products are added": (
        "f32[12,12] dot(x, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
        "f32[12,12] all-reduce",
    ),
    "batch": (
        (
            "f32[8] dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, "
            "rhs_contracting_dims={1}"
        ), "f32[2] dot",
    ),
    "the same devices cut both": (
        "f32[8,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "f32[2,8] dot",
    ),
    "gather": (
        (
            "f32[4,5] gather(v, t), offset_dims={1}, collapsed_slice_dims={0}, "
            "start_index_map={0}, index_vector_dim=1, slice_sizes={1,5}"
        ), "f32[1,5] gather",
    ),
    "rows move to the device before": (
        "f32[7,12] slice(x), slice={[1:8], [0:12]}", "f32[1,12] collective-permute",
    ),
    "rows of one device": ("f32[2,12] slice(x), slice={[5:7], [0:12]}", "f32[4,2,3] all-to-all"),
    "every second row": ("f32[4,12] slice(x), slice={[0:8:2], [0:12]}", "f32[1,12] slice"),
    "rows are turned": ("f32[8,12] reverse(x), dimensions={0}", "f32[2,12] collective-permute"),
    "padded rows": ("f32[12,12] pad(x, n), padding=2_2x0_0", "f32[2,12] collective-permute"),
    "rows apart": ("f32[15,12] pad(x, n), padding=0_0_1x0_0", "f32[4,12] dynamic-slice"),
    "joined rows": ("f32[16,12] concatenate(x, x), dimensions={0}", "f32[2,12] collective-permute"),
    "neighbours": (
        "f32[8,12] reduce-window(x, o32), window={size=3x1 pad=1_1x0_0}, to_apply=sum",
        "f32[1,12] collective-permute",
    ),
    "a maximum in windows": (
        "f32[4,12] reduce-window(x, low), window={size=2x1 stride=2x1}, to_apply=max",
        "f32[1,12] reduce-window",
    ),
    "a column of a row": (
        "f32[1,12] dynamic-slice(x, i, o), dynamic_slice_sizes={1,12}", "f32[1,12] all-reduce",
    ),
    "a row is updated": (
        "f32[8,12] dynamic-update-slice(x, one_row, i, o)", "f32[4,12] dynamic-update-slice",
    ),
    "a table that is cut by rows": (
        (
            "f32[4,12] gather(x, u), offset_dims={1}, collapsed_slice_dims={0}, "
            "start_index_map={0}, index_vector_dim=1, slice_sizes={1,12}"
        ), "f32[4,12] all-reduce",
    ),
    "its gradient": (
        (
            "f32[8,12] scatter(x, u, updates), update_window_dims={1}, inserted_window_dims={0}, "
            "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum"
        ), "f32[2,12] scatter",
    ),
    "updates that are cut": (
        (
            "f32[3,12] scatter(few, rows, x), update_window_dims={1}, inserted_window_dims={0}, "
            "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum"
        ), "f32[3,12] all-reduce",
    ),
    "the place of the maximum": (
        "(f32[12], s32[12]) reduce(x, places, low, o), dimensions={0}, to_apply=argmax",
        "f32[4,12] all-gather",
    ),
    "sorted across": (
        "f32[8,12] sort(x), dimensions={0}, to_apply=less", "f32[4,2,3] all-to-all",
    ),
    "matrices": ("f32[4,3,3] cholesky(matrices), lower=true", "f32[1,3,3] cholesky"),
    "rows of transforms": (
        "c64[8,12] fft(complex), fft_type=FFT, fft_length={12}", "c64[2,12] fft",
    ),
    "groups of features": (
        (
            "f32[2,5,8] convolution(deep, filters), window={size=2}, dim_labels=b0f_0io->b0f, "
            "feature_group_count=8"
        ), "f32[2,5,2] convolution",
    ),
    "an image cut in space": (
        "f32[2,16,3] convolution(long, filter), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f",
        "f32[2,1,2] collective-permute",
    ),
    "a branch": (
        "f32[8,12] conditional(p, x, w), true_computation=twice, false_computation=twice",
        "f32[2,12] conditional",
    ),
    "convolution": (
        "f32[8,12,3] convolution(image, filter), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f",
        "f32[2,12,3] convolution",
    ),
}  # fmt: skip


def program(root: str) -> str:
    """A program of arrays that four devices have parts of."""
    return f"""HloModule m, num_partitions=4, allow_spmd_sharding_propagation_to_output={{true}}
{SUM}{LESS}{MAX}{ARGMAX}
twice {{ a = f32[8,12] parameter(0)
  ROOT d = f32[8,12] add(a, a) }}
ENTRY e {{
  x = f32[8,12] parameter(0), sharding={ROWS}
  y = f32[12,8] parameter(1), sharding={COLUMNS}
  w = f32[8,12] parameter(2), sharding={{replicated}}
  v = f32[12,5] parameter(3)
  t = s32[4] parameter(4), sharding={{devices=[4]<=[4]}}
  i = s32[] parameter(5)
  image = f32[8,12,2] parameter(6), sharding={{devices=[4,1,1]<=[4]}}
  filter = f32[3,2,3] parameter(7)
  u = s32[4] parameter(8)
  updates = f32[4,12] parameter(9)
  few = f32[3,12] parameter(10)
  rows = s32[8] parameter(11), sharding={{devices=[4]<=[4]}}
  matrices = f32[4,3,3] parameter(12), sharding={{devices=[4,1,1]<=[4]}}
  deep = f32[2,6,8] parameter(13), sharding={{devices=[1,1,4]<=[4]}}
  filters = f32[2,1,8] parameter(14), sharding={{devices=[1,1,4]<=[4]}}
  long = f32[2,16,2] parameter(15), sharding={{devices=[1,4,1]<=[4]}}
  p = pred[] parameter(16)
  o32 = f32[] constant(0)
  zeros = f32[8,12] broadcast(o32), dimensions={{}}
  complex = c64[8,12] complex(x, zeros)
  places = s32[8,12] iota(), iota_dimension=0
  low = f32[] constant(-inf)
  one_row = f32[1,12] slice(w), slice={{[3:4], [0:12]}}
  n = f32[] constant(1)
  o = s32[] constant(0)
  row = f32[8,2] slice(w), slice={{[0:8], [3:5]}}
  ROOT r = {root}
}}"""


@pytest.mark.parametrize("name", DIVIDED)
def test_devices_compute_parts(name: str) -> None:
    root, there = DIVIDED[name]
    module = hlo.parse(program(root))
    made = check(module, values(module))
    assert there in [f"{i.shape.text_without_layout} {i.opcode}" for i in made.entry.instructions]


@pytest.mark.parametrize("root", [
    "c64[12,8] fft(turned), fft_type=FFT, fft_length={12,8}",
    "f32[12] reduce(x, n), dimensions={0}, to_apply=sum",
])  # fmt: skip
def test_others_compute_the_whole(root: str) -> None:
    """A transform along the cut; a sum that begins with 1, which would count four times."""
    text = program(root).replace("  ROOT r", "  turned = c64[12,8] transpose(complex), "
                                 "dimensions={1,0}\n  ROOT r")  # fmt: skip
    module = hlo.parse(text)
    made = check(module, values(module))
    assert "all-gather" in {i.opcode for i in made.entry.instructions}


# The roots of programs whose arrays four devices can't share evenly, and their collectives.
UNEVEN = {
    "f32[11,12] negate(y)": [],
    "f32[] reduce(y, o32), dimensions={0,1}, to_apply=sum": ["all-reduce"],
    "f32[] reduce(y, low), dimensions={0,1}, to_apply=max": ["all-reduce"],
    "f32[12,12] dot(y, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}": ["all-reduce"],
    "f32[10,12] slice(y), slice={[1:11], [0:12]}": ["collective-permute"],
    "f32[11,12] reverse(y), dimensions={0}": ["collective-permute"] * 2,
    "f32[11,12] reduce-window(y, low), window={size=3x1 pad=1_1x0_0}, to_apply=max":
        ["collective-permute"] * 2,
    "f32[132] reshape(y)": ["all-gather"],
}  # fmt: skip


@pytest.mark.parametrize("root", UNEVEN)
def test_parts_may_reach_past_the_end(root: str) -> None:
    """11 rows on four devices make blocks of 3; whatever the last row holds must not count."""
    text = f"""HloModule m, num_partitions=4
{SUM}{MAX}
ENTRY e {{
  y = f32[11,12] parameter(0), sharding={ROWS}
  o32 = f32[] constant(0)
  low = f32[] constant(-inf)
  ROOT r = {root}
}}""".replace("num_partitions=4", "num_partitions=4, "
              "allow_spmd_sharding_propagation_to_output={true}")  # fmt: skip
    module = hlo.parse(text)
    made = check(module, values(module))
    found = [i.opcode for i in made.entry.instructions if "collective" in i.row.traits]
    assert found == UNEVEN[root]


LAYERS = f"""HloModule m, num_partitions=4
ENTRY e {{
  x = f32[6,8] parameter(0), sharding={PAIRS}
  up = f32[8,16] parameter(1), sharding={{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}}
  down = f32[16,8] parameter(2), sharding={{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}}
  h = f32[6,16] dot(x, up), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  t = f32[6,16] tanh(h)
  ROOT r = f32[6,8] dot(t, down), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}},
    sharding={PAIRS}
}}"""


def test_two_layers_communicate_once() -> None:
    """As in Megatron: columns of the first matrix, rows of the second, and one sum at the end."""
    module = hlo.parse(LAYERS)
    made = check(module, values(module))
    opcodes = Counter(i.opcode for i in made.entry.instructions)
    assert opcodes == {"parameter": 3, "dot": 2, "tanh": 1, "all-reduce": 1}
    (summed,) = (i for i in made.entry.instructions if i.opcode == "all-reduce")
    assert "replica_groups={{0,1},{2,3}}" in str(summed)


def test_all_devices_hold_what_some_shall_have() -> None:
    """No array of a program that all run lets devices 2 and 3 hold nothing."""
    module = hlo.parse(program("f32[8,12] negate(x)").replace(ROWS, "{devices=[2,1]<=[2]}", 1))
    made = check(module, values(module))
    assert made.entry.parameters[0].shape.dims == (8, 12)


def test_all_devices_hold_an_element_of_a_tuple_that_some_shall_have() -> None:
    """The other elements are cut as their shardings say."""
    module = hlo.parse("""HloModule m, num_partitions=4
ENTRY e {
  t = (f32[8], f32[8]) parameter(0), sharding={{devices=[2]<=[2]}, {devices=[4]<=[4]}}
  a = f32[8] get-tuple-element(t), index=0
  b = f32[8] get-tuple-element(t), index=1
  n = f32[8] negate(a)
  ROOT r = (f32[8], f32[8]) tuple(n, b), sharding={{devices=[2]<=[2]}, {devices=[4]<=[4]}}
}""")
    x = np.arange(8, dtype=np.float32)
    made = check(module, [(x, x + 1)])
    assert [s.dims for s in made.entry.parameters[0].shape.elements] == [(8,), (2,)]
    assert [s.dims for s in made.entry.root.shape.elements] == [(8,), (2,)]


def test_devices_are_all_that_shardings_name() -> None:
    """Without a number in the header: {0,1} and {1,2,3} are four devices, of which all hold x."""
    module = hlo.parse("""HloModule m
ENTRY e {
  x = f32[6] parameter(0), sharding={devices=[2]0,1}
  y = f32[6] parameter(1), sharding={devices=[3]1,2,3}
  ROOT r = f32[6] add(x, y), sharding={devices=[4]<=[4]}
}""")
    made = check(module, values(module))
    assert (made.header.num_partitions, made.entry.root.shape.dims) == (4, (2,))


def test_a_constraint_cuts_a_value_anew() -> None:
    constraint = f'custom-call(x), custom_call_target="Sharding", sharding={BOTH}'
    text = program(f"f32[8,12] negate(c), sharding={BOTH}")
    text = text.replace("  ROOT r", f"  c = f32[8,12] {constraint}\n  ROOT r")
    module = hlo.parse(text)
    made = check(module, values(module))
    assert made.entry.root.shape.dims == (4, 6)


# A reshape of no elements; a number that is joined, beside arrays; a window of one row that is
# padded by its initial value; two cuts of which one device has no block.
@example(seed=6306)
@example(seed=40358)
@example(seed=1020)
@example(seed=1009)
@given(seed=st.integers(0, 2**30))
@pytest.mark.parametrize(("types", "promise"), [
    ((PRED, S8, S32, U8, U64), BITS), ((F32, S32), ROUNDING),
])  # fmt: skip
def test_random_programs(types: Any, promise: Promise, seed: int) -> None:
    """Any module, with random shardings of parameters, results and what lies between."""
    random = Random(f"division/{seed}")
    module = sharded(random_module(random, types=types, favoured=MOVING), random)
    try:
        hlo.verify(module)
    except hlo.HloError:
        # Roots of branches must be sharded alike.
        return
    check(module, [nasty(p.shape, random) for p in module.entry.parameters], promise)
