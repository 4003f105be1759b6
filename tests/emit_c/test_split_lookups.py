"""Lanes look up no numbers of few bits; C gives the same values."""

import ml_dtypes
import numpy as np
import pytest
from written import Assign, For, If, Let

import emit_c
import hlo
import interpreter
from codegen.elements.constants import Constants
from codegen.elements.kernel import Scope
from codegen.kinds import Pointer
from codegen.printer import text
from codegen.statements import Statement
from emit_c import emit
from emit_c.code.names import CNames
from emit_c.kernels.kernel import CKernel
from emit_c.kernels.split_lookups import split_lookups
from hlo.types.element_type import ELEMENT_TYPES
from optimizer import optimize


def looked_up(size: int, count: int, kind: str = "u8") -> hlo.Module:
    """So many elements of a table of some size."""
    return hlo.parse(f"""HloModule table
ENTRY e {{
  t = {kind}[{size}] parameter(0)
  places = s32[{count}] parameter(1)
  ROOT found = {kind}[{count}] gather(t, places), offset_dims={{}},
    collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1}}
}}""")


def written(module: hlo.Module) -> str:
    """The C of a module that was optimized."""
    return emit(optimize(module, target="cpu")).source


def split(*statements: Statement) -> str:
    """The C in place of statements of a kernel with a table `t` of 256 bytes."""
    kernel = CKernel(Constants(CNames()), Scope())
    kernel.argument(Pointer("u8", const=True), "caller", "t", 256)
    return text(split_lookups(kernel, statements))


LOOKED_UP = (Let("s32", "place", "x[i]"), Let("u8", "found", "t[place]"))


def test_lookups_are_a_loop_of_their_own():
    assert (
        split(For("i", 22, (*LOOKED_UP, Assign("y[i]", "found + place")), simd=True))
        == """\
  s32 places[22];
  u8 looked_up[22];
  #pragma omp simd
  for (s64 i = 0; i < 22; i++) {
    const s32 place = x[i];
    places[i] = place;
  }
  for (s64 k_1 = 0; k_1 < 20; k_1 += 4) {
    const u8 found = t[places[k_1]];
    const u8 found_1 = t[places[k_1 + 1]];
    const u8 found_2 = t[places[k_1 + 2]];
    const u8 found_3 = t[places[k_1 + 3]];
    looked_up[k_1] = found;
    looked_up[k_1 + 1] = found_1;
    looked_up[k_1 + 2] = found_2;
    looked_up[k_1 + 3] = found_3;
  }
  const u8 found_4 = t[places[20]];
  const u8 found_5 = t[places[21]];
  looked_up[20] = found_4;
  looked_up[21] = found_5;
  #pragma omp simd
  for (s64 i = 0; i < 22; i++) {
    const s32 place_1 = x[i];
    const u8 found_6 = looked_up[i];
    y[i] = found_6 + place_1;
  }
"""
    )


def test_long_loops_are_done_in_blocks_and_a_rest():
    made = split(For("i", 600, (*LOOKED_UP, Assign("y[i]", "found")), simd=True, parallel=True))
    assert "for (s64 i_block = 0; i_block < 512; i_block += 256) {\n    s32 places[256];" in made
    assert "const s64 i = k_1 + i_block;" in made
    assert "s32 places_1[88];" in made
    assert "+ 512;" in made


def test_what_lanes_share_is_added_to_each_place():
    inside = (LOOKED_UP[0], Let("u8", "found", "t[j * 9 + place + 1]"), Assign("y[i]", "found"))
    made = split(For("j", 5, (For("i", 20, inside, simd=True),)))
    assert "places[i] = place;" in made
    assert "t[j * 9 + 1 + places[k_1 + 1]]" in made


def test_a_lookup_by_what_is_looked_up_comes_after_it():
    chained = (*LOOKED_UP, Let("u8", "second", "t[found]"), Assign("y[i]", "second"))
    made = split(For("i", 20, chained, simd=True))
    assert made.index("places_1[k_") > made.index("looked_up[k_")
    assert made.count("for (") == 5


ALIKE = Let("s32", "n", "x[0]")


@pytest.mark.parametrize(
    "inside",
    [
        (Let("u8", "found", "t[i]"), Assign("y[i]", "found")),
        (ALIKE, Let("u8", "found", "t[i + n]"), Assign("y[i]", "found")),
        (LOOKED_UP[0], If("place < 3", (LOOKED_UP[1], Assign("y[i]", "found")))),
        (Let("s32", "place", "x[i]"), Let("f32", "found", "x[place]"), Assign("y[i]", "found")),
        (*LOOKED_UP, Assign("t[i]", "found")),
    ],
    ids=["in order", "from a place on", "in a branch", "wide numbers", "of what is written"],
)
def test_others_stay(inside):
    assert split(For("i", 900, inside, simd=True)) == text([For("i", 900, inside, simd=True)])


def test_loops_out_of_lanes_and_short_ones_stay():
    inside = (*LOOKED_UP, Assign("y[i]", "found"))
    for loop in (For("i", 900, inside), For("i", 7, inside, simd=True)):
        assert split(loop) == text([loop])


def test_a_table_that_the_kernel_writes_stays():
    source = written(
        hlo.parse("""HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY e {
  t = u8[256] parameter(0)
  places = s32[256] iota(), iota_dimension=0
  back = s32[256] reverse(places), dimensions={0}
  found = u8[256] gather(t, back), offset_dims={}, collapsed_slice_dims={0},
    start_index_map={0}, index_vector_dim=1, slice_sizes={1}
  ROOT sum = u8[256] add(t, found)
}""")
    )
    assert "looked_up[" not in source


@pytest.mark.parametrize("kind", ["pred", "s8", "u8", "s16", "u16", "bf16"])
@pytest.mark.parametrize("size", [300, 5000])
@pytest.mark.parametrize("count", [299, 100_000])
def test_values(kind, size, count):
    module = looked_up(size, count, kind)
    generator = np.random.default_rng(size)
    dtype = {"pred": np.bool_, "s8": np.int8, "u8": np.uint8, "s16": np.int16, "u16": np.uint16,
             "bf16": ml_dtypes.bfloat16}[kind]  # fmt: skip
    table = generator.integers(0, 2**16, size).astype(np.uint16).astype(dtype)
    places = generator.integers(-5, size + 5, count).astype(np.int32)
    made = emit_c.compile(module)(table, places)
    want = interpreter.evaluate(module, table, places)
    assert isinstance(made, np.ndarray)
    assert isinstance(want, np.ndarray)
    assert made.tobytes() == want.tobytes()


PROGRAMS = {
    "a sum": """
  found = {kind}[5000] gather(t, places), offset_dims={{}}, collapsed_slice_dims={{0}},
    start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1}}
  zero = {kind}[] constant(0)
  ROOT sum = {kind}[] reduce(found, zero), dimensions={{0}}, to_apply=add""",
    "rows": """
  rows = s32[100,50] reshape(places)
  found = {kind}[100,50] gather(t, rows), offset_dims={{}}, collapsed_slice_dims={{0}},
    start_index_map={{0}}, index_vector_dim=2, slice_sizes={{1}}
  ROOT back = {kind}[100,50] reverse(found), dimensions={{1}}""",
    "what is looked up": """
  found = {kind}[5000] gather(t, places), offset_dims={{}}, collapsed_slice_dims={{0}},
    start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1}}
  next = s32[5000] convert(found)
  again = {kind}[5000] gather(t, next), offset_dims={{}}, collapsed_slice_dims={{0}},
    start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1}}
  ROOT sum = {kind}[5000] add(found, again)""",
    "a choice": """
  found = {kind}[5000] gather(t, places), offset_dims={{}}, collapsed_slice_dims={{0}},
    start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1}}
  few = s32[] constant(9)
  some = s32[5000] broadcast(few), dimensions={{}}
  is_few = pred[5000] compare(places, some), direction=LT
  ROOT chosen = {kind}[5000] select(is_few, found, t)""",
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("kind", ["s8", "u16", "bf16", "f16"])
def test_values_of_programs(program, kind):
    module = hlo.parse(f"""HloModule lookups
add {{
  x = {kind}[] parameter(0)
  y = {kind}[] parameter(1)
  ROOT sum = {kind}[] add(x, y)
}}
ENTRY e {{
  t = {kind}[5000] parameter(0)
  places = s32[5000] parameter(1){PROGRAMS[program].format(kind=kind)}
}}""")
    generator = np.random.default_rng(1)
    table = generator.integers(0, 2, 5000).astype(ELEMENT_TYPES[kind].dtype)
    places = generator.integers(-5, 5005, 5000).astype(np.int32)
    assert "looked_up" in written(module)
    made = emit_c.compile(module)(table, places)
    want = interpreter.evaluate(module, table, places)
    np.testing.assert_array_equal(np.asarray(made), np.asarray(want))
