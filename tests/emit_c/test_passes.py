"""The passes over kernels: named, in one list, and to be seen one after the other."""

import pytest

import emit_c
import hlo
from emit_c.kernels.passes import PASSES
from hlo_tools.views.loops import loops
from optimizer import optimize

SUM = """HloModule m
f { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[9,100] parameter(0)
  zero = f32[] constant(0)
  ROOT total = f32[9] reduce(x, zero), dimensions={1}, to_apply=f
}"""


def test_every_pass_has_a_name_and_a_reason():
    names = [each.name for each in PASSES]
    assert len(set(names)) == len(names)
    assert all(each.why.endswith(".") for each in PASSES)


def test_passes_are_watched_in_order():
    seen = []
    emit_c.emit(hlo.parse(SUM), watch=lambda kernel, name, *_: seen.append((kernel, name)))
    assert seen == [("total", name) for name in ("", *(each.name for each in PASSES))]


def test_the_loops_are_shown_where_a_pass_changes_them():
    shown = loops(hlo.parse(SUM), "total")
    titles = [line for line in shown.splitlines() if line.startswith("// total:")]
    assert titles == [
        "// total: as it is written",
        "// total: after vectorize-reductions",
        "// total: after inline-uses",
    ]
    first = loops(hlo.parse(SUM), until="unroll-short-loops")
    assert "// total: as it is written\n//   %zero = f32[] constant(0)\n//   %total = f32[" in first
    assert all(f"//   {each.why[:40]}" in shown for each in PASSES if f"after {each.name}" in shown)


def test_functions_that_a_pass_makes_are_shown_above_the_loops_that_call_them():
    shown = loops(hlo.parse(SUM), "total")
    states = shown.split("// total: ")[2:]
    assert len(states) == 2
    assert all(state.count("void sum_of_lanes(f32 *lanes) {") == 1 for state in states)
    assert shown.index("void sum_of_lanes(") < shown.index("  sum_of_lanes(lanes")


def test_equal_functions_of_a_kernel_are_one():
    """Two rows are added up in lanes, and the lanes in one function."""
    twice = SUM.replace("ROOT total", "total").replace(
        "to_apply=f\n}",
        """to_apply=f
  row = f32[9,100] broadcast(total), dimensions={0}
  centered = f32[9,100] subtract(x, row)
  ROOT rest = f32[9] reduce(centered, zero), dimensions={1}, to_apply=f\n}""",
    )
    shown = loops(optimize(hlo.parse(twice), target="cpu"), until="vectorize-reductions")
    last = shown.split("after vectorize-reductions")[-1]
    assert last.count("sum_of_lanes(lanes") == 2
    assert last.count("void sum_of_lanes") == 1


@pytest.mark.parametrize("wrong", [{"kernel": "nothing"}, {"until": "nothing"}])
def test_names_of_nothing(wrong):
    with pytest.raises(hlo.HloError, match="nothing"):
        loops(hlo.parse(SUM), **wrong)
