"""Convolutions of every form: all ways to lay them across lanes and rows."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from emitted import checked
from hypothesis import assume, given
from hypothesis import strategies as st
from products import FEW, product
from strategies.compiled import check

import emit_c
import hlo
import interpreter
from codegen.statements import Call
from emit_c.code import processor
from emit_c.contraction.tiles import Tile

LAYOUTS = {1: ["b0f_0io->b0f", "bf0_oi0->bf0", "f0b_i0o->0bf"],
           2: ["b01f_01io->b01f", "bf01_oi01->bf01", "f01b_i01o->01bf", "bf01_o01i->b0f1"],
           3: ["b012f_012io->b012f", "bf012_oi012->bf012"]}  # fmt: skip


def placed(labels: str, sizes: dict[str, int]) -> str:
    return ",".join(str(sizes[c]) for c in labels)


def convolved(lhs, rhs, result, how, kind="f32", target=None):
    """A convolution of arrays of a type, by their sizes."""
    shapes = f"{kind}[{lhs}]", f"{kind}[{rhs}]", f"{target or kind}[{result}]"
    return product(*shapes, how, opcode="convolution")


def check_convolution(*case):
    """The C agrees exactly with the interpreter on small whole numbers."""
    check(convolved(*case), arguments=FEW)


@st.composite
def convolutions(draw):
    rank = draw(st.integers(1, 3))
    labels = draw(st.sampled_from(LAYOUTS[rank]))
    inputs, rest = labels.split("_")
    kernel, outputs = rest.split("->")
    few = st.integers(1, 3)
    features, groups = draw(st.sampled_from([1, 2, 3, 8])), draw(st.sampled_from([1, 1, 2, 6, 20]))
    by_batch = draw(st.booleans())
    total = groups * draw(st.sampled_from([1, 2, 5, 16, 40]))
    batch = draw(st.sampled_from([1, 2, 17]))
    left = {"b": batch, "f": features}
    left["b" if by_batch else "f"] *= groups
    right, made = {"i": features, "o": total}, {"b": batch, "f": total}
    window = []
    for d in map(str, range(rank)):
        n = draw(st.sampled_from([1, 2, 5, 9, 16] if rank < 3 else [1, 3, 6]))
        w = hlo.types.values.WindowDim(
            draw(few), draw(few), draw(st.integers(-1, 3)), draw(st.integers(-1, 3)),
            draw(few), draw(st.integers(1, 2)), draw(st.booleans()),
        )  # fmt: skip
        left[d], right[d], made[d] = n, w.size, w.positions(n)
        window.append(w)
    assume(prod(made.values()) * features * prod(w.size for w in window) < 1 << 22)
    assume(min(made.values()) > 0)
    joined = {
        "size": [w.size for w in window],
        "stride": [w.stride for w in window],
        "pad": [f"{w.pad_low}_{w.pad_high}" for w in window],
        "lhs_dilate": [w.base_dilation for w in window],
        "rhs_dilate": [w.window_dilation for w in window],
        "rhs_reversal": [int(w.reversal) for w in window],
    }
    text = " ".join(f"{k}={'x'.join(map(str, v))}" for k, v in joined.items())
    how = f"window={{{text}}}, dim_labels={labels}, "
    how += f"{'batch' if by_batch else 'feature'}_group_count={groups}"
    return placed(inputs, left), placed(kernel, right), placed(outputs, made), how


@given(convolutions(), st.sampled_from(["f32", "f32", "bf16", "f64", "s8", "c64"]))
def test_all_kinds(case, element_type):
    check_convolution(*case, element_type)


DEPTHWISE = "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=40"
HOLES = "window={size=1 pad=1_-1 lhs_dilate=2}, dim_labels=b0f_0io->b0f, feature_group_count=20"
FEATURES_FIRST = (
    "window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, feature_group_count=40"
)
CASES = {
    "nothing but holes": ("1,1,20", "1,1,800", "1,1,800", HOLES),
    "rows of two heights": ("1,17,3,4", "3,3,4,40", "1,15,1,40",
                            "window={size=3x3}, dim_labels=b01f_01io->b01f"),
    "kernel larger than the cache": ("1,7,7,160", "3,3,160,96", "1,7,7,96",
                                     "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"),
    "kernel gradient": ("2,30,30,8", "2,30,30,40", "3,3,8,40",
                        "window={size=30x30 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf"),
    "depthwise": ("1,9,9,40", "3,3,1,40", "1,9,9,40", DEPTHWISE),
    "depthwise, features first": ("1,40,9,9", "40,1,3,3", "1,40,5,5", FEATURES_FIRST),
    "places across lanes": ("1,5,20,20", "2,5,3,3", "1,2,18,18",
                            "window={size=3x3}, dim_labels=bf01_oi01->bf01"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("element_type", ["f32", "bf16"])
def test_tiled(name, element_type):
    assert checked(convolved(*CASES[name], element_type), arguments=FEW).tiles


@pytest.mark.parametrize("element_type", ["f32", "bf16"])
@pytest.mark.parametrize("pad", ["0_0x0_0", "1_1x2_0"])
def test_features_go_before_places_by_transposes(element_type, pad, monkeypatch):
    """Where vectors are wide: short ones are filled by the few features."""
    monkeypatch.setattr(processor, "here", lambda: processor.Processor(64, 32, sums_bytes=False))
    rows = 30 + (pad != "0_0x0_0") * 2
    shapes = "2,32,40,20", "3,3,20,2", f"2,{rows},{rows + 8},2"
    how = f"window={{size=3x3 pad={pad}}}, dim_labels=b01f_01io->b01f"
    made = checked(convolved(*shapes, how, element_type), arguments=FEW)
    # What has to be converted is not copied as it is.
    called = [s.function.name for s in made.nested if isinstance(s, Call)]
    assert called.count("hlo_transpose_u32") == (element_type != "bf16")


def test_holes_of_a_dilated_base_are_not_multiplied():
    """One product for the places between holes, and one for the others."""
    how = "window={size=3 pad=1_1 lhs_dilate=2}, dim_labels=b0f_0io->b0f"
    made = checked(convolved("1,9,8", "3,8,32", "1,17,32", how), arguments=FEW)
    assert sum(isinstance(s, Call) and isinstance(s.function, Tile) for s in made.nested) == 2


def test_phases_may_meet_only_holes():
    check_convolution("1,6,1", "1,1,8", "1,11,8",
          "window={size=1 lhs_dilate=2}, dim_labels=b0f_0io->b0f")  # fmt: skip


def test_rows_of_a_window_may_meet_only_holes():
    check_convolution("1,1,13,6", "1,16,3,12", "1,2,4,12",
          "window={size=1x16 stride=3x1 pad=-1_4x-1_-2 lhs_dilate=3x3 rhs_dilate=2x2}, "
          "dim_labels=b01f_01io->b01f, feature_group_count=2")  # fmt: skip


def test_narrow_integers_are_summed_up_in_the_wider_result():
    how = "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f"
    check_convolution("1,9,8", "3,8,32", "1,9,32", how, "s8", "s32")


@pytest.mark.parametrize("kind", ["s8", "u16", "s16"])
def test_tiles_of_one_lane_multiply_narrow_integers(kind):
    """Their product is an int in C, which can't be added to a vector of one narrow number."""
    text = f"""HloModule m
ENTRY e {{
  x = {kind}[2,1,2] parameter(0)
  y = {kind}[1,2,1] parameter(1)
  ROOT r = {kind}[1,1,2] convolution(x, y), window={{size=1 stride=2}}, dim_labels=b0f_oi0->f0b
}}"""
    module = hlo.parse(text)
    dtype = module.entry.root.shape.element_type.dtype
    x = np.array([[[100, -3]], [[7, 50]]]).astype(dtype)
    y = np.array([[[5], [100]]]).astype(dtype)
    for optimize in (False, True):
        got = emit_c.compile(module, optimize=optimize)(x, y)
        np.testing.assert_array_equal(got, interpreter.evaluate(module, x, y))
