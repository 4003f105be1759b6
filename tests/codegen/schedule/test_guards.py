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
from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView
from codegen.schedule.order import parallelize
from codegen.schedule.stage import loading, loading_tile
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


def test_a_copy_has_the_guards_before_its_load():
    """The second condition guards only what comes after the load."""
    load, store = Let("f32", "a", "x[i]"), If("a < 3", (Assign("y[i]", "a"),))
    loop = For("i", 9, (If("i < 5", (load, store)),))
    (copy,) = loading(loop, {Load(Name("waiting"), Name("i")): load.value})
    assert copy.body == (If("i < 5", (Assign("waiting[i]", "x[i]"),)),)


@pytest.mark.parametrize(
    ("stored", "match"),
    [
        ("y[9 * j + i]", None),
        # The guard of the second of these iterations is what the first one has changed.
        ("c[i + 1]", r"the load of c\[i\] may need the store to c\[i \+ 1\]"),
        ("c[i]", r"the load of c\[i\] may see the store to c\[i\]"),
    ],
)
def test_a_guard_must_not_change_while_the_loop_inside_runs(stored, match):
    inner = For("j", 3, (Assign(stored, "x[i]"),))
    nest = For("i", 8, (If("c[i] < 3", (inner,)),))
    if match is None:
        inside = If("c[i] < 3", inner.body)
        assert interchange(nest) == For("j", 3, (For("i", 8, (inside,)),))
        return
    with pytest.raises(IllegalError, match=match):
        interchange(nest)


@pytest.mark.parametrize("inside", [False, True])
def test_bounds_that_an_iteration_computes_stay_inside(inside):
    """`n` has one value in all iterations, but no name outside of them."""
    body = (Let("s64", "n", "m"), For("j", "n", (Assign("y[9 * j + i]", "0"),)))
    with pytest.raises(IllegalError, match="bounds of the loop over j"):
        interchange(For("i", 9, (If("i < 3", body),) if inside else body))
