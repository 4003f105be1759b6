"""Dot products and convolutions of many types and roles of dimensions, on random numbers."""

import pytest
from strategies.compiled import check, entry

from interpreter.numbers.compare import BITS, ROUNDING

PLAIN = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"

BATCHED = "lhs_batch_dims={0}, rhs_batch_dims={0}, "

BATCHED += "lhs_contracting_dims={2}, rhs_contracting_dims={1}"

DOTS = [
    ("f32[3,4]", "f32[4,5]", "f32[3,5]", PLAIN),
    ("f32[40,300]", "f32[300,50]", "f32[40,50]", PLAIN),
    ("f32[300,40]", "f32[50,300]", "f32[40,50]",
     "lhs_contracting_dims={0}, rhs_contracting_dims={1}"),
    ("f64[2,30,20]", "f64[2,20,33]", "f64[2,30,33]",
     BATCHED),
    ("bf16[20,30]", "bf16[30,40]", "bf16[20,40]", PLAIN),
    ("f16[20,30]", "f16[30,40]", "f32[20,40]", PLAIN),
    ("s8[20,30]", "s8[30,40]", "s32[20,40]", PLAIN),
    ("c64[5,6]", "c64[6,7]", "c64[5,7]", PLAIN),
    ("f32[1,200]", "f32[200,300]", "f32[1,300]", PLAIN),
    ("f32[4,5,6]", "f32[6,4]", "f32[5]", "lhs_contracting_dims={0,2}, rhs_contracting_dims={1,0}"),
    ("f32[0,5]", "f32[5,6]", "f32[0,6]", PLAIN),
    ("f32[70,0]", "f32[0,90]", "f32[70,90]", PLAIN),
]  # fmt: skip


@pytest.mark.parametrize(("lhs", "rhs", "result", "roles"), DOTS)
def test_dot(lhs, rhs, result, roles):
    text = f"x = {lhs} parameter(0)\ny = {rhs} parameter(1)\nROOT r = {result} dot(x, y), {roles}"
    check(entry(text), BITS if "s8" in lhs else ROUNDING)


CONVOLUTIONS = [
    ("f32[2,7,8,3]", "f32[3,2,3,8]", "f32[2,4,8,8]",
     "window={size=3x2 stride=2x1 pad=1_1x0_1}, dim_labels=b01f_01io->b01f"),
    ("f32[2,3,7,8]", "f32[8,3,3,3]", "f32[2,8,7,8]",
     "window={size=3x3 pad=1_1x1_1 rhs_reversal=1x0}, dim_labels=bf01_oi01->bf01"),
    ("f32[1,6,8]", "f32[3,1,8]", "f32[1,6,8]",
     "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, feature_group_count=8"),
    ("f32[1,6,8]", "f32[3,4,10]", "f32[1,6,10]",
     "window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f, feature_group_count=2"),
    ("f32[4,6,3]", "f32[2,3,12]", "f32[2,5,12]",
     "window={size=2}, dim_labels=b0f_0io->b0f, batch_group_count=2"),
    ("bf16[1,5,2]", "bf16[3,2,8]", "bf16[1,11,8]",
     "window={size=3 pad=2_2 lhs_dilate=2 rhs_dilate=1}, dim_labels=b0f_0io->b0f"),
    ("s8[1,5,2]", "s8[3,2,2]", "s32[1,3,2]", "window={size=3}, dim_labels=b0f_0io->b0f"),
]  # fmt: skip


@pytest.mark.parametrize(("lhs", "rhs", "result", "how"), CONVOLUTIONS)
def test_convolution(lhs, rhs, result, how):
    text = f"x = {lhs} parameter(0)\ny = {rhs} parameter(1)\n"
    text += f"ROOT r = {result} convolution(x, y), {how}"
    check(entry(text), BITS if "s8" in lhs else ROUNDING)
