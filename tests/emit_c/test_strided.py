"""Results in other layouts: the same values, without a copy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies.compiled import check

import emit_c
import hlo
from emit_c.executable.strided import StridedExecutable
from hlo.verify import verify
from optimizer.layout.result_views import ResultViews, views_of
from optimizer.log import Log


def bitcasts(module):
    return [i for i in module.entry.instructions if i.opcode == "bitcast"]


@given(st.permutations(range(4)), st.permutations(range(4)))
def test_every_order(order, other):
    dims = (2, 1, 3, 5)
    there = [dims[d] for d in order]
    layout = [order.index(d) for d in range(4)][::-1]
    module = hlo.parse(f"""HloModule m
ENTRY e {{
  x = f32[2,1,3,5] parameter(0)
  t = f32[{",".join(map(str, there))}]{{{",".join(map(str, layout))}}} transpose(x),
    dimensions={{{",".join(map(str, order))}}}
  u = f32[{",".join(str(dims[d]) for d in other)}] transpose(x),
    dimensions={{{",".join(map(str, other))}}}
  ROOT r = (f32[{",".join(map(str, there))}]{{{",".join(map(str, layout))}}},
    f32[{",".join(str(dims[d]) for d in other)}]) tuple(t, u)
}}""")
    x = np.arange(30, dtype=np.float32).reshape(dims)
    check(module, optimize=True, arguments=(x,))


LAST = """HloModule m, entry_computation_layout={(f32[2,3]{1,0})->%s}
ENTRY e {
  x = f32[2,3]{1,0} parameter(0)
  n = f32[2,3]{1,0} negate(x)
  b = f32[3,2]{0,1} bitcast(n)
%s
}"""


def test_a_last_bitcast_is_a_view():
    last = "  ROOT c = f32[3,2]{0,1} bitcast(n)"
    module = hlo.parse(LAST % ("f32[3,2]{0,1}", last))
    made, views = ResultViews().run(module, Log()), views_of(module)
    verify(made)
    assert views[0].sizes == (2, 3)
    assert made.entry.root.name == "n"
    executable = emit_c.compile(module, optimize=False)
    assert isinstance(executable, StridedExecutable)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    result = executable(x)
    assert result.flags.f_contiguous
    np.testing.assert_array_equal(result, -x.T)


def test_results_of_a_tuple():
    shapes = "(f32[3,2]{0,1}, f32[2,3]{1,0}, f32[3,2]{0,1})"
    module = hlo.parse(LAST % (shapes, f"  ROOT t = {shapes} tuple(b, n, b)"))
    made, views = ResultViews().run(module, Log()), views_of(module)
    verify(made)
    assert sorted(views) == [0, 2]
    assert not bitcasts(made)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for mine, right in zip(
        emit_c.compile(module, optimize=False)(x), (-x.T, -x, -x.T), strict=True
    ):
        np.testing.assert_array_equal(mine, right)


def test_what_is_used_elsewhere_stays():
    shapes = "(f32[3,2]{0,1}, f32[3,2]{0,1})"
    last = f"  a = f32[3,2]{{0,1}} abs(b)\n  ROOT t = {shapes} tuple(b, a)"
    module = hlo.parse(LAST % (shapes, last))
    made, views = ResultViews().run(module, Log()), views_of(module)
    verify(made)
    assert list(views) == [0]
    assert len(bitcasts(made)) == 1


def test_an_argument_may_be_seen_in_another_order():
    module = hlo.parse(
        "HloModule m\nENTRY e { x = f32[2,3]{1,0} parameter(0)\nROOT b = f32[3,2]{0,1} bitcast(x) }"
    )
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(emit_c.compile(module, optimize=False)(x), x.T)


def test_other_modules_stay():
    module = hlo.parse(
        "HloModule m\nENTRY e { x = f32[2,3] parameter(0)\nROOT n = f32[2,3] abs(x) }"
    )
    assert ResultViews().run(module, Log()) is module
    assert views_of(module) == {}


def test_a_root_with_a_sharding_is_a_view_as_well():
    """JAX's resharding ends so: with one element of a tuple of one."""
    module = hlo.parse("""HloModule m, entry_computation_layout={(f32[2,3]{1,0})->f32[2,3]{0,1}}
ENTRY e {
  x = f32[2,3]{1,0} parameter(0)
  t = (f32[2,3]{1,0}) tuple(x)
  ROOT r = f32[2,3]{1,0} get-tuple-element(t), index=0, sharding={replicated}
}""")
    executable = emit_c.compile(module)
    assert isinstance(executable, StridedExecutable)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(executable(x), x)
