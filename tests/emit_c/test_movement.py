"""What only moves elements, or reads their bits as others: C gives what the interpreter gives."""

import re

import numpy as np
import pytest
from emitted import checked, emitted
from strategies.compiled import check, entry

import emit_c
import hlo
from codegen.statements import Let
from hlo.types.element_type import ELEMENT_TYPES

MOVEMENT = {
    "transpose": "x = {T}[2,3,4] parameter(0)\n"
    "ROOT r = {T}[4,2,3] transpose(x), dimensions={2,0,1}",
    "reshape": "x = {T}[4,6] parameter(0)\nROOT r = {T}[3,2,4] reshape(x)",
    "slice": "x = {T}[9,5] parameter(0)\nROOT r = {T}[3,2] slice(x), slice={[1:9:3],[2:4]}",
    "reverse": "x = {T}[4,5] parameter(0)\nROOT r = {T}[4,5] reverse(x), dimensions={1}",
    "broadcast": "x = {T}[3] parameter(0)\nROOT r = {T}[2,3,2] broadcast(x), dimensions={1}",
    "pad": "x = {T}[3,4] parameter(0)\nv = {T}[] parameter(1)\n"
    "ROOT r = {T}[9,2] pad(x, v), padding=2_2_1x-1_-1",
    "concatenate": "x = {T}[2,3] parameter(0)\ny = {T}[2,1] parameter(1)\n"
    "z = {T}[2,0] parameter(2)\n"
    "ROOT r = {T}[2,6] concatenate(x, y, z, y, y), dimensions={1}",
    "bitcast": "x = {T}[2,3,4]{0,2,1} parameter(0)\nROOT r = {T}[12,2]{1,0} bitcast(x)",
    "gather": "x = {T}[5,4] parameter(0)\ni = s32[3,2] parameter(1)\n"
    "ROOT r = {T}[3,2,2] gather(x, i), offset_dims={1,2}, collapsed_slice_dims={}, "
    "start_index_map={0,1}, index_vector_dim=1, slice_sizes={2,2}",
    "dynamic-slice": "x = {T}[5,4] parameter(0)\ni = s32[] parameter(1)\nj = s32[] parameter(2)\n"
    "ROOT r = {T}[2,3] dynamic-slice(x, i, j), dynamic_slice_sizes={2,3}",
    "dynamic-update-slice": "x = {T}[5,4] parameter(0)\nu = {T}[2,2] parameter(1)\n"
    "i = s64[] parameter(2)\nROOT r = {T}[5,4] dynamic-update-slice(x, u, i, i)",
    "copy": "x = {T}[3] parameter(0)\nROOT r = {T}[3] copy(x)",
    "nothing": "x = {T}[0,3] parameter(0)\nROOT r = {T}[3,0] transpose(x), dimensions={1,0}",
    "scalar": "x = {T}[] parameter(0)\nROOT r = {T}[1,1] broadcast(x), dimensions={}",
}


CHOSEN = {
    "select": "c = pred[9] parameter(0)\nx = {T}[9] parameter(1)\ny = {T}[9] parameter(2)\n"
    "ROOT r = {T}[9] select(c, x, y)",
    "select of a constant": "c = pred[9] parameter(0)\nx = {T}[9] parameter(1)\n"
    "n = {T}[] constant(nan)\ny = {T}[9] broadcast(n), dimensions={}\n"
    "ROOT r = {T}[9] select(c, x, y)",
    "pad": MOVEMENT["pad"],
    "concatenate": MOVEMENT["concatenate"],
}


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("element_type", ["f16", "bf16", "f8e4m3fn"])
def test_small_floats_are_chosen_as_they_are_stored(name, element_type):
    module = entry(CHOSEN[name].replace("{T}", element_type))
    assert f"load_{element_type}" not in emitted(module).names
    check(module)


def test_a_computed_small_float_is_chosen_as_it_is_computed():
    module = entry("x = bf16[9] parameter(0)\ny = bf16[9] parameter(1)\ns = bf16[9] add(x, y)\n"
                   "c = bf16[18] concatenate(s, y), dimensions={0}\n"
                   "ROOT r = bf16[18] multiply(c, c)")  # fmt: skip
    check(module)


@pytest.mark.parametrize("name", MOVEMENT)
@pytest.mark.parametrize("element_type", ["f32", "s4", "bf16"])
def test_movement(name, element_type):
    check(entry(MOVEMENT[name].replace("{T}", element_type)))


@pytest.mark.parametrize("element_type", ["f32", "s4", "bf16"])
@pytest.mark.parametrize(
    ("sizes", "starts"),
    [
        ((4, 3, 5), (1, 0, 1)),
        ((5, 4, 4), (9, 9, 9)),
        ((3, 4, 6), (-1, 2, 0)),
        ((4, 3, 6), (1, 1, 0)),
    ],
)
def test_an_update_of_most_elements_leaves_those_around_it(sizes, starts, element_type):
    given = "\n".join(f"i{d} = s32[] constant({start})" for d, start in enumerate(starts))
    dims = ",".join(map(str, sizes))
    text = (
        f"x = {element_type}[5,4,6] parameter(0)\n"
        f"u = {element_type}[{dims}] parameter(1)\n{given}\n"
        f"ROOT r = {element_type}[5,4,6] dynamic-update-slice(x, u, i0, i1, i2)"
    )
    check(entry(text))


def test_iota_counts_in_every_dimension():
    check(entry("a = s4[20] iota(), iota_dimension=0\nb = bf16[3,300] iota(), iota_dimension=1\n"
                "ROOT r = (s4[20], bf16[3,300]) tuple(a, b)"))  # fmt: skip


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("f32[3]", "s32[3]"),
        ("f32[3]", "u8[3,4]"),
        ("u8[3,4]", "f32[3]"),
        ("u8[2]", "s4[2,2]"),
        ("f64[2]", "bf16[2,4]"),
        ("s4[3,2]", "s8[3]"),
    ],
)
def test_bitcast_convert(source, target):
    check(entry(f"x = {source} parameter(0)\nROOT r = {target} bitcast-convert(x)"))


@pytest.mark.parametrize(
    ("source", "target"),
    [("s4[8]", "u8[4]"), ("u8[4]", "s4[8]"), ("u8[4]", "pred[4]"), ("pred[8]", "u16[4]"),
     ("f32[2,3]{0,1}", "u8[24]"), ("u8[16]", "f32[2,2]{0,1}"), ("c64[2]", "f32[4]"),
     ("f64[2]", "c64[2]")],
)  # fmt: skip
def test_bitcast_to_another_type(source, target):
    check(entry(f"x = {source} parameter(0)\nROOT r = {target} bitcast(x)"))


@pytest.mark.parametrize("opcode", ["bitcast", "bitcast-convert"])
def test_bits_of_more_than_a_word_are_refused(opcode):
    text = entry(f"x = c64[3,2] parameter(0)\nROOT r = c128[3] {opcode}(x)")
    with pytest.raises(hlo.HloError, match="c64 to c128"):
        emit_c.compile(hlo.parse(text), optimize=False)


def test_elements_of_four_bits_have_room():
    check(
        entry("""x = s4[12,17] parameter(0)
a = s4[12,17] negate(x)
b = s4[17,12] transpose(a), dimensions={1,0}
c = s4[17,12] add(b, b)
d = s4[12,17] transpose(c), dimensions={1,0}
e = s4[12,17] subtract(d, x)
f = s4[17,12] transpose(e), dimensions={1,0}
ROOT g = s4[12,17] transpose(f), dimensions={1,0}""")
    )


def clamped(made):
    """The places that are kept inside of an array."""
    return [s for s in made.nested if isinstance(s, Let) and re.search(r"_at(_1)?$", s.name)]


@pytest.mark.parametrize(
    ("kind", "taken", "asked"),
    [("u32", "6,5", 1), ("s32", "3,5", 1), ("s32", "6,7", 2), ("s8", "2,200", 2)],
)
def test_a_gather_along_one_dimension_clamps_nothing_else(kind, taken, asked):
    """What an iota counts is clamped only where it may be outside the operand, or its type."""
    module = hlo.parse(
        entry(f"""x = f32[9,{200 if kind == "s8" else 5}] parameter(0)
        i = {kind}[{taken},1] parameter(1)
        c = {kind}[{taken},1] iota(), iota_dimension=1
        v = {kind}[{taken},2] concatenate(i, c), dimensions={{2}}
        ROOT r = f32[{taken}] gather(x, v), offset_dims={{}}, collapsed_slice_dims={{0,1}},
          start_index_map={{0,1}}, index_vector_dim=2, slice_sizes={{1,1}}""")
    )
    x, i = (p.shape for p in module.entry.parameters)
    generator = np.random.default_rng(4)
    arguments = (
        generator.standard_normal(x.dims).astype(np.float32),
        generator.integers(0, 12, i.dims).astype(i.element_type.dtype),
    )
    made = checked(module, optimize=True, arguments=arguments)
    assert len(clamped(made)) == asked


@pytest.mark.parametrize("kind", ["s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"])
def test_indices_are_clamped_in_their_own_type(kind):
    module = f"""HloModule m
ENTRY e {{
  x = f32[7,50] parameter(0)
  i = {kind}[40,2] parameter(1)
  ROOT g = f32[40] gather(x, i), offset_dims={{}}, collapsed_slice_dims={{0,1}},
    start_index_map={{0,1}}, index_vector_dim=1, slice_sizes={{1,1}}
}}"""
    dtype = ELEMENT_TYPES[kind].dtype
    info = np.iinfo(dtype)
    index = np.random.default_rng(0).integers(0, 60, (40, 2)).astype(dtype)
    index[:6] = [(info.min, info.max), (info.max, 3), (3, info.min), (6, 49), (7, 50), (0, 0)]
    x = np.arange(350, dtype=np.float32).reshape(7, 50)
    made = checked(module, optimize=True, arguments=(x, index))
    assert {s.kind for s in clamped(made)} == {"s32"}, "lanes of places as narrow as may be"


@pytest.mark.parametrize(("start", "first"), [("s32[] constant(-3)", 0), ("u8[] constant(9)", 5)])
def test_starts_that_are_constants_are_clamped_beforehand(start, first):
    module = hlo.parse(
        entry(f"""x = f32[8] parameter(0)
        i = {start}
        ROOT r = f32[3] dynamic-slice(x, i), dynamic_slice_sizes={{3}}""")
    )
    executable = emit_c.compile(module, optimize=False)
    x = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(executable(x), x[first : first + 3])
    assert not clamped(emitted(module, optimize=False))
