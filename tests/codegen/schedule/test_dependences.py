"""How far apart two iterations are that meet in one element."""

import pytest
from written import Assign, For, If, Let

from codegen.expressions import Load, Name
from codegen.schedule.dependences import distances
from codegen.schedule.legality import IllegalError
from codegen.schedule.loop import LoopView
from codegen.schedule.stage import loading


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


def test_values_that_grow_are_not_spelled_out():
    """Each of 60 values is twice the one before: spelled out, the last one has 2^59 names."""
    lets = [Let("s64", f"v{k}", f"v{k - 1} + v{k - 1}" if k else "i + 1") for k in range(60)]
    view = LoopView(For("i", 9, (*lets, Assign("y[v0]", "v59"))))
    assert {"v0", "v1"} <= view.numbers.keys()
    assert "v59" not in view.numbers
    element = Load(Name("x"), Name("v59"))
    with pytest.raises(IllegalError, match="an index is computed in the iteration"):
        loading(
            For("i", 9, (*lets, Let("f32", "a", element))),
            {Load(Name("waiting"), Name("i")): element},
        )
