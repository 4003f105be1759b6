"""What is refused names the two accesses, and leaves the loop as it was."""

import pytest
from written import Assign, For, If, Let, Variable, tree

from codegen import statements
from codegen.elements.kernel import Scope
from codegen.expressions import Load, Name
from codegen.printer import text
from codegen.schedule.dependences import distances
from codegen.schedule.divide import divide
from codegen.schedule.expand import expand
from codegen.schedule.fission import computed, fission
from codegen.schedule.hoist import hoist
from codegen.schedule.interchange import interchange
from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView
from codegen.schedule.stage import loading, storing
from codegen.schedule.unroll_and_jam import unroll_and_jam
from emit_c.kernels.kernel import CKernel

WAITING = Load(Name("waiting"), Name("i"))


def test_the_two_accesses_are_named():
    loop = For("i", 9, (Let("f32", "a", "x[i + 1]"), Assign("x[i + 2]", "a")))
    with pytest.raises(IllegalError) as error:
        computed(loop, {WAITING: Name("a")})
    assert str(error.value) == (
        "the load of x[i + 1] may need the store to x[i + 2] in an earlier iteration"
    )


def test_a_load_that_is_repeated_may_not_see_what_is_stored_meanwhile():
    load, store = Let("f32", "a", "x[i]"), Assign("x[i]", "z[i]")
    loop = For("i", 9, (load, store, Assign("y[i]", "a")))
    first, second = fission(loop, [load, store], [], {"a": WAITING})
    assert first.body == (load, store, Assign("waiting[i]", "a"))
    assert second.body == (Assign("y[i]", "waiting[i]"),)
    with pytest.raises(IllegalError, match=r"the store to x\[i\] may need the load of x\[i\]"):
        fission(loop, [load, store], [load], {})


COPY = Assign("y[i]", "x[i]")


@pytest.mark.parametrize(
    "statements",
    [
        (Assign("y[i]", "i < 5 ? x[i] : 0"),),
        (If("i < 5", (COPY,), (Assign("y[i]", "0"),)),),
        (If("i < 5", (COPY,)), Assign("z[i]", "0")),
    ],
)
def test_an_element_that_may_not_be_there_is_not_loaded_ahead(statements):
    """Of `x[5]` no iteration asks, so that it may lie outside of its array."""
    with pytest.raises(IllegalError, match=r"x\[i\] is not loaded in each iteration"):
        loading(For("i", 9, statements), {WAITING: Load(Name("x"), Name("i"))})


def test_a_value_must_wait_for_the_second_loop():
    load = Let("f32", "a", "x[i]")
    with pytest.raises(IllegalError, match="does not wait"):
        fission(For("i", 9, (load, Assign("y[i]", "a"))), [load], [], {})


def test_a_store_that_is_read_again_does_not_wait_for_the_end_of_the_loop():
    store = Assign("y[i]", "x[i]")
    last = Assign("z[i]", "y[i]")
    with pytest.raises(IllegalError, match=r"the load of y\[i\] may need the store to y\[i\]"):
        storing(For("i", 9, (store, last)), {WAITING: store.target})


def test_a_loop_that_may_end_early_stays_one():
    """The second loop would end there, but the first one has then stored too much."""
    first, second = Assign("x[i]", "z[i]"), Assign("y[i]", "z[i]")
    loop = For("i", 9, (first, statements.Break(tree("z[i] > 3")), second))
    with pytest.raises(IllegalError, match="may be the last one"):
        fission(loop, [first], [], {})


@pytest.mark.parametrize(
    ("start", "stop", "step"), [(0, "n", 2), ("m", "n", "s"), (0, "v", 1), (0, "t + 1", 1)]
)
def test_a_loop_to_a_number_that_changes_has_no_guard(start, stop, step):
    """`v` is another number in each iteration, and `t` is added up."""
    inside = Let("s64", "v", "x[i]"), Assign("t", "t + v")
    loop = statements.For("i", tree(stop), inside, tree(start), tree(step))
    with pytest.raises(IllegalError, match="does not count by 1 to one number"):
        divide(body(), loop, 4, lambda block, _: [block], tail="guard")


@pytest.mark.parametrize(
    ("stop", "stored", "loaded", "want"),
    [
        (9, "y[i + 2]", "y[i]", [2, 2]),
        (9, "y[i]", "y[i + 2]", [-2, -2]),
        (9, "y[2 * i]", "y[2 * i + 1]", None),
        (9, "y[i]", "y[i + 9]", None),
        (9, "y[3 * i]", "y[3 * i + j]", [0, 0]),
        (9, "y[0]", "y[i]", [-8, 0]),
        (9, "y[n + i]", "y[n + i]", [0, 0]),
        (9, "y[9 * j + i]", "y[9 * j + i]", [0, 0]),
        (9, "y[10 * j + i]", "y[10 * j + i + 1]", [-1, -1]),
        (9, "y[8 * j + i]", "y[8 * j + i]", [-8, 8]),
        (9, "y[9 * i - j]", "y[9 * i - j + 3]", None),
        (9, "y[27 * i + j]", "y[27 * i + j + 27]", [-1, -1]),
        (9, "y[n + i]", "y[m + i]", [-8, 8]),
        (9, "y[t[i]]", "y[i]", [-8, 8]),
        (5, "y[9 - i]", "y[i]", None),
    ],
)
def test_the_distance_of_a_store_and_a_load(stop, stored, loaded, want):
    inner = For("j", 3, (Assign("z[j]", loaded),))
    first = For("j", 3, (Assign(stored, 1),)) if "j" in stored else Assign(stored, 1)
    view = LoopView(For("i", stop, (first, inner)))
    store = next(each for each in view.accesses if each.name == "y" and each.is_write)
    load = next(each for each in view.accesses if each.name == "y" and not each.is_write)
    found = distances(view, store, load)
    assert (found and [found[0], found[-1]]) == want


@pytest.mark.parametrize(
    ("stored", "guard", "want"),
    [
        ("y[9 * k + s]", "s < 9", [0, 0]),
        ("y[9 * k + s]", "s < 10", [-2, 2]),
        ("y[9 * k + s]", "s < m", [-2, 2]),
        ("y[18 * k + 2 * s]", "s < 9", [0, 0]),
        ("y[9 * k + i + j]", "s < 9", [-2, 2]),
    ],
)
def test_a_guard_bounds_a_sum_of_counters(stored, guard, want):
    store = If(guard, (Assign(stored, 1),))
    inner = For("j", 4, (Let("s64", "s", "4 * i + j"), store))
    view = LoopView(For("i", 3, (For("k", 2, (inner,)),)))
    (access,) = (each for each in view.accesses if each.is_write)
    found = distances(view, access, access)
    assert [found[0], found[-1]] == want


def test_a_nest_is_not_interchanged_against_its_recurrence():
    store = Assign("x[9 * i + j + 8]", "x[9 * i + j]")
    nest = For("i", 9, (For("j", 8, (store,)),))
    with pytest.raises(IllegalError) as error:
        interchange(nest)
    assert str(error.value) == (
        "the load of x[9 * i + j] may need the store to x[9 * i + j + 8] in an earlier iteration"
    )


def test_a_value_that_is_stored_again_is_not_repeated():
    value = Let("f32", "a", "x[3 * i]")
    inner = For("j", 3, (Assign("x[3 * i + j]", "a"),))
    with pytest.raises(IllegalError, match=r"the load of x\[3 \* i\] may see the store"):
        interchange(For("i", 9, (value, inner)))


def test_a_loop_without_known_bounds_is_interchanged():
    """The inner loop's bounds read a name, and the outer loop's none: this was an error."""
    store = Assign("y[9 * j + i]", "x[j]")
    made = interchange(For("i", 9, (For("j", "n", (store,)),)))
    assert made == For("j", "n", (For("i", 9, (store,)),))


def test_values_that_grow_are_not_spelled_out():
    """Each of 60 values is twice the one before: spelled out, the last one has 2^59 names."""
    lets = [Let("s64", f"v{k}", f"v{k - 1} + v{k - 1}" if k else "i + 1") for k in range(60)]
    view = LoopView(For("i", 9, (*lets, Assign("y[v0]", "v59"))))
    assert {"v0", "v1"} <= view.numbers.keys()
    assert "v59" not in view.numbers
    element = Load(Name("x"), Name("v59"))
    with pytest.raises(IllegalError, match="an index is computed in the iteration"):
        loading(For("i", 9, (*lets, Let("f32", "a", element))), {WAITING: element})


def test_values_that_all_iterations_share_are_spelled_out_in_a_staged_index():
    """The row's number is computed again in each iteration, as `interchange` leaves it."""
    row, load = Let("s64", "r", "k + block"), Let("f32", "a", "x[i * 64 + r]")
    (copy,) = loading(For("i", 9, (row, load, Assign("y[i]", "a"))), {WAITING: load.value})
    assert copy.body == (Assign("waiting[i]", "x[i * 64 + (k + block)]"),)


def body():
    return CKernel(None, Scope()).body


def rows():
    """Sums of the rows of a matrix."""
    total = For("k", 9, (Assign("t", "t + x[9 * i + k]"),), reductions=(("+", "t"),))
    return For("i", 5, (Variable("f32", "t", "0"), total, Assign("y[i]", "t")))


TWO_ROWS = """\
  for (s64 i = 0; i < 4; i += 2) {
    f32 t = 0;
    f32 t_1 = 0;
    for (s64 k = 0; k < 9; k++) {
      t = t + x[9 * i + k];
      t_1 = t_1 + x[9 * (i + 1) + k];
    }
    y[i] = t;
    y[i + 1] = t_1;
  }
  f32 t_2 = 0;
  for (s64 k = 0; k < 9; k++) {
    t_2 = t_2 + x[9 * 4 + k];
  }
  y[4] = t_2;
"""


def test_the_loops_inside_of_several_iterations_become_one():
    """Each sum has a variable of its own; of five rows, two at a time, one is left over."""
    assert text(unroll_and_jam(body(), rows(), 2)) == TWO_ROWS


SUMS_IN_AN_ARRAY = """\
  f32 t[5];
  for (s64 i = 0; i < 5; i++) {
    t[i] = 0;
    for (s64 k = 0; k < 9; k++) {
      t[i] = t[i] + x[9 * i + k];
    }
    y[i] = t[i];
  }
"""


def test_a_variable_of_each_iteration_becomes_an_array():
    arrays, loop = expand(body(), rows())
    assert text([*arrays, loop]) == SUMS_IN_AN_ARRAY


@pytest.mark.parametrize(
    ("inner", "match"),
    [
        # Row i reads what row i - 1 has stored one column further on: after it, now before it.
        (For("k", 8, (Assign("y[10 * i + k + 11]", "y[10 * i + k + 2]"),)), r"y\[10 \* i"),
        (For("k", "i", (Assign("y[9 * i + k]", "0"),)), "bounds of the loop over k differ"),
        (If("c", (For("k", 8, ()),)), "no straight code"),
    ],
)
def test_a_nest_is_not_jammed_where_an_iteration_needs_the_one_before(inner, match):
    with pytest.raises(IllegalError, match=match):
        unroll_and_jam(body(), For("i", 8, (inner,)), 2)


@pytest.mark.parametrize(
    ("stored", "loaded", "later", "error"),
    [
        ("w[k]", "x[k]", "y[i + k]", None),
        ("w[k]", "x[i + k]", "y[i + k]", "i may differ from iteration to iteration"),
        ("w[k]", "x[k]", "x[i]", "x may differ"),
        ("w[k]", "x[k]", "w[i]", "w may differ"),
        ("w[0]", "w[1]", "y[i]", "w may differ"),
    ],
)
def test_copies_are_hoisted_that_are_the_same_in_each_iteration(stored, loaded, later, error):
    copies = For("k", 3, (Assign(stored, loaded),))
    rest = For("k", 3, (Assign(later, "w[k] + i"),))
    loop = For("i", 9, (copies, rest))
    if error is None:
        assert hoist(loop, 1) == [copies, For("i", 9, (rest,))]
        return
    with pytest.raises(IllegalError, match=error):
        hoist(loop, 1)


def test_a_loop_that_may_not_run_at_all_keeps_its_copies():
    with pytest.raises(IllegalError, match="may have no iteration"):
        hoist(For("i", Name("n"), (Assign("w[0]", "x[0]"),)), 1)
