"""Instructions that each of several devices runs on parts of their operands."""

from collections import Counter
from dataclasses import replace
from math import prod
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import hlo
from hlo.types.element_type import F32, PRED, S8, S32, U8, U64
from hlo.walk import rebuild
from hlo_tools.generate.modules import random_module
from hlo_tools.generate.values import nasty
from interpreter.numbers.compare import BITS, ROUNDING, Promise
from tests.sharded import check, divided, values

ROWS, COLUMNS, BOTH = "{devices=[4,1]<=[4]}", "{devices=[1,4]<=[4]}", "{devices=[2,2]<=[4]}"
PAIRS = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"
SUM = "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n"
LESS = (
    "less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
    "ROOT c = pred[] compare(a, b), direction=LT }\n"
)
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
    "convolution": (
        "f32[8,12,3] convolution(image, filter), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f",
        "f32[2,12,3] convolution",
    ),
}  # fmt: skip


def program(root: str) -> str:
    """A program of arrays that four devices have parts of."""
    return f"""HloModule m, num_partitions=4
{SUM}{LESS}
ENTRY e {{
  x = f32[8,12] parameter(0), sharding={ROWS}
  y = f32[12,8] parameter(1), sharding={COLUMNS}
  w = f32[8,12] parameter(2), sharding={{replicated}}
  v = f32[12,5] parameter(3)
  t = s32[4] parameter(4), sharding={{devices=[4]<=[4]}}
  i = s32[] parameter(5)
  image = f32[8,12,2] parameter(6), sharding={{devices=[4,1,1]<=[4]}}
  filter = f32[3,2,3] parameter(7)
  n = f32[] constant(1)
  o = s32[] constant(0)
  o32 = f32[] constant(0)
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
    "f32[5,12] slice(x), slice={[1:6], [0:12]}",
    "f32[8,12] reverse(x), dimensions={0}",
    "f32[3,32] reshape(x)",
    "f32[4,24] reshape(y)",
    "f32[12] reduce(x, n), dimensions={0}, to_apply=sum",
])  # fmt: skip
def test_others_compute_the_whole(root: str) -> None:
    module = hlo.parse(program(root))
    made = check(module, values(module))
    assert made.entry.root.shape == module.entry.root.shape
    assert "all-gather" in {i.opcode for i in made.entry.instructions}


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


def test_parts_of_some_devices_are_refused() -> None:
    text = program("f32[8,12] negate(x)").replace(ROWS, "{devices=[2,1]<=[2]}", 1)
    with pytest.raises(hlo.HloError, match="its sharding is for 2 of 4 devices") as caught:
        divided(hlo.parse(text))
    assert caught.value.span


def test_a_constraint_cuts_a_value_anew() -> None:
    constraint = f'custom-call(x), custom_call_target="Sharding", sharding={BOTH}'
    text = program(f"f32[8,12] negate(c), sharding={BOTH}")
    text = text.replace("  ROOT", f"  c = f32[8,12] {constraint}\n  ROOT")
    module = hlo.parse(text)
    made = check(module, values(module))
    assert made.entry.root.shape.dims == (4, 6)


# A reshape of no elements; a number that is joined, beside arrays.
@example(seed=6306)
@example(seed=40358)
@given(seed=st.integers(0, 2**30))
@pytest.mark.parametrize(("types", "promise"), [
    ((PRED, S8, S32, U8, U64), BITS), ((F32, S32), ROUNDING),
])  # fmt: skip
def test_random_programs(types: Any, promise: Promise, seed: int) -> None:
    random = Random(f"division/{seed}")
    module = sharded(random_module(random, types=types), random)
    check(module, [nasty(p.shape, random) for p in module.entry.parameters], promise)


def sharded(module: hlo.Module, random: Random) -> hlo.Module:
    """A program whose parameters four devices have parts of, where they are even."""
    plan = {p: cut(p, random) for p in module.entry.parameters if p.shape.rank}
    entry = rebuild(module.entry, plan)
    computations = tuple(entry if c is module.entry else c for c in module.computations)
    header = replace(module.header, num_partitions=4)
    return replace(module, header=header, entry=entry, computations=computations)


def cut(parameter: hlo.Instruction, random: Random) -> hlo.Instruction:
    """A parameter that is cut along one or two of its even dimensions, if it has some."""
    even = [d for d, size in enumerate(parameter.shape.dims) if size and size % 2 == 0]
    counts = [1] * parameter.shape.rank
    for d in random.sample(even, min(len(even), random.randint(0, 2))):
        counts[d] = 2
    copies = 4 // prod(counts)
    text = ",".join(map(str, [*counts, copies] if copies > 1 else counts))
    turned = random.choice(["[4]", "[2,2]T(1,0)"])
    last = " last_tile_dim_replicate" * (copies > 1)
    written = hlo.parse(
        f"HloModule m\nENTRY e {{ ROOT x = {parameter.shape} parameter(0), "
        f"sharding={{devices=[{text}]<={turned}{last}}} }}"
    )
    return parameter.with_(annotations=written.entry.root.annotations)
