"""The passes over kernels: named, in one list, and to be seen one after the other."""

import pytest

import emit_c
import hlo
from emit_c.kernels.passes import PASSES
from hlo_tools.drawing.pictures.loops import loops
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


LOOKUP = """HloModule m
ENTRY e {
  table = u8[1000] parameter(0)
  places = s32[22] parameter(1)
  ROOT found = u8[22] gather(table, places), offset_dims={},
    collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}
}"""


def test_each_loop_transformation_of_a_pass_is_a_step_with_its_reason():
    shown = loops(hlo.parse(LOOKUP), until="split-lookups", steps=True)
    heads = [line for line in shown.splitlines() if "step" in line or "legal" in line]
    assert heads == [
        "// found: in split-lookups, step 1 of 4: fission, first half",
        "//   legal, as the loop promises that no iteration depends on another one",
        "// found: in split-lookups, step 2 of 4: fission, loops between the halves",
        "//   legal, as the second half reads what these find where the first half says",
        "// found: in split-lookups, step 3 of 4: unroll_and_jam by 4",
        "//   legal, as none of 4 iterations needs what another one of them stores",
        "// found: in split-lookups, step 4 of 4: fission, second half",
        "//   legal, as the arrays have what it would compute",
    ]
    assert "step" not in loops(hlo.parse(LOOKUP), until="split-lookups")


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
