"""Modules that XLA has optimized for a GPU, and sorts of CUB in such modules."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import emit_c
import hlo
import interpreter
from optimizer import Log, parse_pipeline
from tests.gpu_libraries import expect_close, expect_refused, flat, run

ROOT = Path(__file__).parents[2]
# Texts of XLA's compiler for an H200, of models whose own texts lie in tests/models.
DUMPS = sorted((ROOT / "benchmarks" / "xla_gpu").glob("*.hlo"))


@pytest.mark.parametrize("path", DUMPS, ids=lambda p: p.stem)
def test_what_xla_made_for_a_gpu_means_what_it_was_made_of(path: Path) -> None:
    saved = np.load(ROOT / "tests" / "models" / f"{path.stem}.npz")
    arguments = [saved[key] for key in saved.files if not key.startswith("out")]
    before = hlo.parse((ROOT / "tests" / "models" / f"{path.stem}.hlo").read_text())
    hlo.verify(hlo.parse(path.read_text()))
    expected = flat(interpreter.evaluate(before, *arguments))
    results = run(path.read_text(), *arguments, tolerance=1e-5)
    compiled = emit_c.compile(hlo.parse(path.read_text()))
    expect_close(flat(compiled(*arguments)), results, 1e-5)
    # Types of 16 bits are rounded elsewhere there.
    expect_close(results, expected, 2e-2 if path.stem == "mixed_precision" else 1e-5)


def radix_sort(shapes: list[str], *, descending: bool, rest: str = ", u8[1]{0}") -> str:
    """A module of one sort of CUB."""
    lines = [f"  p{i} = {s} parameter({i})" for i, s in enumerate(shapes)]
    names, results = ", ".join(f"p{i}" for i in range(len(shapes))), ", ".join(shapes)
    call = f"  ROOT c = ({results}{rest}) custom-call({names}), "
    call += 'custom_call_target="__cub$DeviceRadixSort", '
    config = json.dumps({"descending": descending})
    return "\n".join(["ENTRY e {", *lines, f"{call}backend_config={config}", "}"])


@pytest.mark.parametrize("descending", [False, True])
def test_keys_are_sorted_with_their_values(descending: bool) -> None:
    keys = np.array([[3, -1, 3, 0], [7, 7, -8, 1]], np.int32)
    values = np.arange(8, dtype=np.float32).reshape(2, 4)
    text = radix_sort(["s32[2,4]", "f32[2,4]"], descending=descending)
    results = run(text, keys, values)[:2]
    order = np.argsort(-keys if descending else keys, axis=-1, kind="stable")
    np.testing.assert_array_equal(results[0], np.take_along_axis(keys, order, -1))
    np.testing.assert_array_equal(results[1], np.take_along_axis(values, order, -1))


def test_zeros_of_both_signs_keep_their_order() -> None:
    keys = np.array([1, 0.0, -0.0, np.nan, -np.inf, 0.0, -np.nan], np.float32)
    text = radix_sort(["f32[7]", "s32[7]"], descending=False)
    module = hlo.parse(text)
    expanded = parse_pipeline("custom-call-expander").run(module, Log())
    for each in (module, expanded):
        _, places, _ = interpreter.evaluate(each, keys, np.arange(7, dtype=np.int32))
        assert places.tolist() == [6, 4, 1, 2, 5, 0, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (radix_sort(["c64[4]"], descending=False), "no order for"),
        (radix_sort(["s32[4]", "s32[3]"], descending=False), r"can't sort s32\[3\] by s32\[4\]"),
        (radix_sort(["s32[4]"], descending=False, rest=""), "and memory"),
    ],
)
def test_a_sort_that_does_not_fit_is_refused(text: str, message: str) -> None:
    expect_refused(text, message)
