"""Primitives that take a loop through guards, as text: from `divide`, and written by hand."""

from random import Random

import pytest
from written import Assign, For, If, Let

from codegen.elements.kernel import Scope
from codegen.expressions import Load, Name
from codegen.interpret import final_memory
from codegen.printer import text
from codegen.schedule.divide import divide
from codegen.schedule.guards import closed, opened
from codegen.schedule.interchange import interchange
from codegen.schedule.loop import LoopView
from codegen.schedule.order import parallelize
from codegen.schedule.stage import loading_tile
from codegen.statements import LocalVariable
from emit_c.kernels.kernel import CKernel


def test_a_guard_comes_before_those_that_it_guards():
    first, last = Let("s64", "r", "k + 64"), Assign("y[r]", "x[r]")
    inside = If("r < 90", (first, If("k < 3", (last,))))
    assert opened([inside]) == [If("r < 90", ()), first, If("k < 3", ()), last]
    assert closed(opened([inside])) == (inside,)


def test_a_choice_with_two_sides_or_with_more_after_it_is_no_guard():
    store = Assign("y[k]", "x[k]")
    for block in ([If("k < 3", (store,), (store,))], [If("k < 3", (store,)), store]):
        assert opened(block) == block


TILES = """\
  for (s64 i_block = 0; i_block < 50; i_block += 32) {
    for (s64 j_block = 0; j_block < 40; j_block += 32) {
      f32 tile[1056];
      for (s64 k_2 = 0; k_2 < 32; k_2++) {
        for (s64 k_1 = 0; k_1 < 32; k_1++) {
          if (j_block + k_2 < 40) {
            if (i_block + k_1 < 50) {
              tile[k_2 * 33 + k_1] = x[(j_block + k_2) * 50 + (i_block + k_1)];
            }
          }
        }
      }
      for (s64 k_1 = 0; k_1 < 32; k_1++) {
        for (s64 k_2 = 0; k_2 < 32; k_2++) {
          const s64 j = j_block + k_2;
          if (j < 40) {
            const s64 i = i_block + k_1;
            if (i < 50) {
              const f32 a = tile[k_2 * 33 + k_1];
              y[i * 40 + j] = a;
            }
          }
        }
      }
    }
  }
"""


def test_a_tile_of_a_ragged_array():
    """Both guards pass into the innermost loop, and guard the copy."""
    assert text(tiles(transposed(50, 40))) == TILES


def transposed(rows, columns):
    load = Let("f32", "a", f"x[j * {rows} + i]")
    return For("i", rows, (For("j", columns, (load, Assign(f"y[i * {columns} + j]", "a"))),))


def tiles(nest, change=lambda loop: loop):
    body = CKernel(None, Scope()).body

    def of_rows(rows, _):
        return map(change, divide(body, interchange(rows), 32, of_tile, tail="guard"))

    def of_tile(tile, _):
        rows = interchange(tile)
        (load,) = LoopView(rows).loads
        here = Load(Name("tile"), Name(rows.body[0].name) * 33 + Name(rows.name))
        copy, last = loading_tile(rows, here, load)
        return [LocalVariable("f32", "tile", size=32 * 33), change(interchange(copy)), change(last)]

    return [change(each) for each in divide(body, nest, 32, of_rows, tail="guard")]


@pytest.mark.parametrize("sizes", [(64, 96), (50, 40), (33, 7), (5, 3), (3, 40), (70, 32)])
def test_iterations_of_ragged_tiles_are_independent(sizes):
    """Without the guards, two tiles would store to one element, and so would rows of a tile."""
    nest = transposed(*sizes)
    made = tiles(nest, parallelize)
    assert final_memory(made, random=Random(0)) == final_memory([nest])
