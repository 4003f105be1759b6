"""Lanes look up no numbers of few bits; C gives the same values."""

import numpy as np
import pytest
from emitted import checked, emitted
from strategies.compiled import check

import hlo
from hlo.types.element_type import ELEMENT_TYPES


def looked_up(size: int, count: int, kind: str = "u8") -> hlo.Module:
    """So many elements of a table of some size."""
    return hlo.parse(f"""HloModule table
ENTRY e {{
  t = {kind}[{size}] parameter(0)
  places = s32[{count}] parameter(1)
  ROOT found = {kind}[{count}] gather(t, places), offset_dims={{}},
    collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1}}
}}""")


def test_a_table_that_the_kernel_writes_stays():
    made = emitted("""HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY e {
  t = u8[256] parameter(0)
  places = s32[256] iota(), iota_dimension=0
  back = s32[256] reverse(places), dimensions={0}
  found = u8[256] gather(t, back), offset_dims={}, collapsed_slice_dims={0},
    start_index_map={0}, index_vector_dim=1, slice_sizes={1}
  ROOT sum = u8[256] add(t, found)
}""")
    assert "split-lookups" not in made.passes


@pytest.mark.parametrize("kind", ["pred", "s8", "u8", "s16", "u16", "bf16"])
@pytest.mark.parametrize("size", [300, 5000])
@pytest.mark.parametrize("count", [299, 100_000])
def test_values(kind, size, count):
    module = looked_up(size, count, kind)
    generator, dtype = np.random.default_rng(size), ELEMENT_TYPES[kind].dtype
    table = generator.integers(0, 2**16, size).astype(np.uint16).astype(dtype)
    places = generator.integers(-5, size + 5, count).astype(np.int32)
    # Of NaN as well, each bit.
    made = check(module, optimize=True, arguments=(table, places))(table, places)
    assert made.tobytes() == table[places.clip(0, size - 1)].tobytes()


# Of each of many places, the number in a table.
FOUND = """
  found = {kind}[5000] gather(t, places), offset_dims={{}}, collapsed_slice_dims={{0}},
    start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1}}"""
PROGRAMS = {
    "a sum": FOUND
    + """
  zero = {kind}[] constant(0)
  ROOT sum = {kind}[] reduce(found, zero), dimensions={{0}}, to_apply=add""",
    "rows": """
  rows = s32[100,50] reshape(places)
  found = {kind}[100,50] gather(t, rows), offset_dims={{}}, collapsed_slice_dims={{0}},
    start_index_map={{0}}, index_vector_dim=2, slice_sizes={{1}}
  ROOT back = {kind}[100,50] reverse(found), dimensions={{1}}""",
    "what is looked up": FOUND
    + """
  next = s32[5000] convert(found)
  again = {kind}[5000] gather(t, next), offset_dims={{}}, collapsed_slice_dims={{0}},
    start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1}}
  ROOT sum = {kind}[5000] add(found, again)""",
    "a choice": FOUND
    + """
  few = s32[] constant(9)
  some = s32[5000] broadcast(few), dimensions={{}}
  is_few = pred[5000] compare(places, some), direction=LT
  ROOT chosen = {kind}[5000] select(is_few, found, t)""",
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("kind", ["s8", "u16", "bf16", "f16"])
def test_values_of_programs(program, kind):
    module = hlo.parse(f"""HloModule lookups
add {{ x = {kind}[] parameter(0)  y = {kind}[] parameter(1)  ROOT sum = {kind}[] add(x, y) }}
ENTRY e {{
  t = {kind}[5000] parameter(0)
  places = s32[5000] parameter(1){PROGRAMS[program].format(kind=kind)}
}}""")
    generator = np.random.default_rng(1)
    table = generator.integers(0, 2, 5000).astype(ELEMENT_TYPES[kind].dtype)
    places = generator.integers(-5, 5005, 5000).astype(np.int32)
    made = checked(module, optimize=True, arguments=(table, places))
    assert "split-lookups" in made.passes
