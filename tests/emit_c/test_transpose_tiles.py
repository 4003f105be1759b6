"""Tiles that are read transposed are turned by shuffles; C gives the same values."""

from textwrap import dedent

import numpy as np
import pytest
from numbered_names import Names

import emit_c
import hlo
from codegen.expressions import Name, item
from codegen.printer import text
from codegen.statements import Assign, For, Let
from emit_c.kernels.transpose_tiles import transpose_tiles
from hlo.types.element_type import ELEMENT_TYPES
from interpreter import evaluate
from interpreter.numbers.compare import BITS, compare
from optimizer.analysis.indexing import counter

ROW, COLUMN = counter("i", 16), counter("j", 16)


def tile(number, kind="f32", array="x", sides=(16, 16)):
    """A tile that is copied from elements of some numbers."""
    load = Let(kind, "v", item(Name(array), number))
    inside = load, Assign(item(Name("y"), ROW * 64 + COLUMN), Name("v"))
    return For("i", sides[0], (For("j", sides[1], inside, simd=True),))


def test_a_tile_is_loaded_row_by_row_and_turned():
    made = dedent(text(transpose_tiles(Names(), [tile(COLUMN * 128 + ROW)])))
    assert (
        "for (s64 r_3 = 0; r_3 < 16; r_3++) {\n"
        "  #pragma omp simd\n"
        "  for (s64 c_4 = 0; c_4 < 16; c_4++) {\n"
        "    padded_2[r_3 * 16 + c_4] = x[r_3 * 128 + c_4];\n"
    ) in made
    assert "  columns_1[k_5 + 32] = padded_2[k_5 * 16 + 2];\n" in made
    assert made.endswith(
        "for (s64 i = 0; i < 16; i++) {\n"
        "  #pragma omp simd\n"
        "  for (s64 j = 0; j < 16; j++) {\n"
        "    const f32 v = columns_1[i * 16 + j];\n"
        "    y[i * 64 + j] = v;\n"
        "  }\n"
        "}\n"
    )


def test_rows_of_short_numbers_may_lie_any_distance_apart():
    assert "columns" in text(transpose_tiles(Names(), [tile(COLUMN * 100 + ROW, "u16")]))


@pytest.mark.parametrize(
    "made",
    [
        tile(COLUMN * 100 + ROW),
        tile(COLUMN * 128 + ROW * 2),
        tile(COLUMN + ROW * 128),
        tile(COLUMN * 8 + ROW),
        tile(COLUMN * 128 + ROW, array="y"),
        tile(COLUMN * 128 + ROW, "c64"),
        tile(COLUMN * 128 + ROW, sides=(8, 16)),
    ],
    ids=["no power of two", "rows apart", "in order", "near", "written", "complex", "half a tile"],
)
def test_other_tiles_stay(made):
    assert transpose_tiles(Names(), [made]) == (made,)


@pytest.mark.parametrize("rows", [16, 48, 50, 128])
@pytest.mark.parametrize("columns", [32, 60, 64])
@pytest.mark.parametrize("kind", ["pred", "u8", "bf16", "f32", "s64", "c64", "c128"])
def test_transpositions(kind, rows, columns):
    module = hlo.parse(f"""HloModule m
ENTRY e {{
  x = {kind}[3,{rows},{columns}] parameter(0)
  y = {kind}[3,{columns},{rows}] parameter(1)
  t = {kind}[3,{columns},{rows}] transpose(x), dimensions={{0,2,1}}
  c = pred[3,{columns},{rows}] compare(t, y), direction=EQ
  ROOT r = (pred[3,{columns},{rows}], {kind}[3,{columns},{rows}]) tuple(c, t)
}}""")
    made = np.random.default_rng(rows)
    dtype = ELEMENT_TYPES[kind].dtype
    x = made.integers(0, 3, (3, rows, columns)).astype(dtype)
    y = made.integers(0, 3, (3, columns, rows)).astype(dtype)
    for mine, meant in zip(emit_c.compile(module)(x, y), evaluate(module, x, y), strict=True):
        assert compare(mine, meant, BITS) is None
