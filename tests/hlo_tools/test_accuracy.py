"""`hlo accuracy` and the cost of `hlo stats`."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import hlo as language
from hlo_tools.search.exact import error_of, in_f64, instruction_errors, pass_errors
from optimizer import parse_pipeline
from optimizer.analysis.cost import module_cost

CANCELS = """ENTRY e {
  x = f32[2] parameter(0)
  big = f32[] constant(16777216)
  bigs = f32[2] broadcast(big), dimensions={}
  y = f32[2] add(x, bigs)
  z = f32[2] subtract(y, bigs)
  ROOT r = f32[2] negate(z)
}
"""


def test_an_error_is_where_it_arises_and_where_it_matters() -> None:
    module = language.parse(CANCELS)
    rows = {r.instr.name: r for r in instruction_errors(module, [np.array([1, 3], np.float32)])}
    assert list(rows) == ["bigs", "y", "z", "r"]
    # 2**24 + 1 is no f32: half a unit away, which is rounded; but of 1 nothing is left.
    assert rows["y"].own is not None
    assert rows["y"].own.ulps == 0
    assert rows["z"].own is not None
    assert rows["z"].own.ulps == 0
    assert rows["z"].whole.ulps > 1_000_000
    assert rows["z"].whole.relative == pytest.approx(1 / 3)
    assert rows["r"].whole == rows["z"].whole


def test_errors_are_told_beside_the_largest_element() -> None:
    """A 0 in the place of 1e-9 is 800 million ULPs away, and nothing beside 1."""
    got = np.array([1, 0], np.float32)
    found = error_of(got, np.array([1, 1e-9]))
    assert found.by_element > 800_000_000
    assert found.ulps < 0.01
    assert found.relative == pytest.approx(1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_one_ulp_is_one(dtype: Any) -> None:
    """Of the neighbour of the largest element, in each type; an infinity is far from a number."""
    right = np.array([1.5, 0.25, 0])
    got = right.astype(dtype)
    assert error_of(got, right).ulps == 0
    got[0] += ml_dtypes.finfo(dtype).eps
    assert error_of(got, right).ulps == 1
    got[1] = np.inf
    assert error_of(got, right).ulps > 1_000 or dtype is ml_dtypes.bfloat16


def test_integers_and_predicates_stay_as_they_are() -> None:
    text = """ENTRY e {
      x = bf16[2] parameter(0)
      n = s8[2] parameter(1)
      c = c64[2] parameter(2)
      y = f16[2] convert(n)
      z = pred[2] compare(x, x), direction=EQ
      ROOT t = (f16[2], pred[2], c64[2]) tuple(y, z, c)
    }"""
    shapes = {i.name: i.shape for i in in_f64(language.parse(text)).instructions()}
    assert [str(shapes[n].without_layout) for n in "xncyz"] == [
        *("f64[2]", "s8[2]", "c128[2]", "f64[2]", "pred[2]"),
    ]


def test_errors_after_passes() -> None:
    module = language.parse(CANCELS)
    given = [np.array([1, 3], np.float32)]
    stops = pass_errors(module, parse_pipeline("cse,algebraic-simplifier,dce"), given)
    assert stops[0].name == ""
    assert stops[0].error.ulps > 1_000_000
    assert {stop.name for stop in stops[1:]} <= {"cse", "algebraic-simplifier", "dce"}


def test_accuracy_is_printed(hlo, softmax: Path) -> None:
    result = hlo("accuracy", softmax, "--instructions", 3)
    assert result.status == 0
    assert "own ulps  whole ulps" in result.out
    assert "reduce f32[8]" in result.out
    assert "result after" in result.out
    assert "no pass" in result.out
    assert result.out.count("%") == 3
    assert "own ulps" not in hlo("accuracy", softmax, "--instructions", 0).out


def test_what_has_no_form_in_f64_is_refused(hlo) -> None:
    text = "ENTRY e { x = f32[2] parameter(0) ROOT y = u32[2] bitcast-convert(x) }"
    result = hlo("accuracy", "-", stdin=text.encode())
    assert result.status == 2
    assert "has no form in f64" in result.err


def test_the_cost_is_that_of_xla(hlo, tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    x, y = np.ones((8, 4), np.float32), np.ones((4, 8), np.float32)
    with jax.default_device(jax.devices("cpu")[0]):  # other tests may have another backend
        lowered = jax.jit(lambda x, y: jnp.sum(jnp.exp(x @ y))).lower(x, y)
    compiled = lowered.compile()
    text = compiled.as_text()
    cost, ours = compiled.cost_analysis(), module_cost(language.parse(text))
    assert ours.flops == cost["flops"]
    assert ours.transcendentals == cost["transcendentals"]
    assert ours.bytes_accessed == cost["bytes accessed"]
    path = tmp_path / "m.hlo"
    path.write_text(text)
    told = hlo("stats", path).out.split()
    assert told[told.index("flops") + 1] == f"{int(cost['flops']):,}"


def test_no_number_is_cut_away_by_a_long_name(hlo, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    name = "very_" * 30 + "long"
    text = f"ENTRY e {{ x = f32[2] parameter(0)  ROOT {name} = f32[2] exponential(x) }}"
    told = hlo("accuracy", "-", "--fill", 1, stdin=text.encode()).out
    assert "…" not in told
    assert told.splitlines()[0].split() == [
        "instruction",
        "own",
        "ulps",
        "whole",
        "ulps",
        "relative",
        "by",
        "element",
    ]
