"""Values whose rows are cut anew after reshapes, and such whose rows stay."""

import pytest

import hlo
from optimizer.fusion.skew import skewed

JOINED = "f = f32[3,70] reshape(a)\n"
SKEWED = {
    "other rows": "ROOT r = f32[3,14,5] reshape(a)",
    "shorter rows": JOINED + "s = f32[3,65] slice(f), slice={[0:3],[0:65]}\n"
    "ROOT r = f32[3,5,13] reshape(s)",
    "rows that begin later": JOINED + "s = f32[3,56] slice(f), slice={[0:3],[3:59]}\n"
    "ROOT r = f32[3,4,14] reshape(s)",
    "part of a row at the end": JOINED + "ROOT s = f32[3,65] slice(f), slice={[0:3],[0:65]}",
    "longer rows": JOINED + "z = f32[] constant(0)\np = f32[3,75] pad(f, z), padding=0_0x0_5\n"
    "n = f32[3,75] negate(p)\nROOT r = f32[3,5,15] reshape(n)",
}
EVEN = {
    "joined": "ROOT f = f32[3,70] reshape(a)",
    "taken apart": "ROOT f = f32[3,5,2,7] reshape(a)",
    "ones": "ROOT f = f32[1,3,5,1,14] reshape(a)",
    "and joined again": "b = f32[3,10,7] reshape(a)\nROOT f = f32[30,7] reshape(b)",
    "whole rows": JOINED + "s = f32[3,42] slice(f), slice={[0:3],[14:56]}\n"
    "ROOT r = f32[3,6,7] reshape(s)",
    "every second element": JOINED + "s = f32[3,35] slice(f), slice={[0:3],[0:70:2]}\n"
    "ROOT r = f32[3,5,7] reshape(s)",
    "whole rows of padding": JOINED + "z = f32[] constant(0)\n"
    "p = f32[3,84] pad(f, z), padding=0_0x14_0\nROOT r = f32[3,6,14] reshape(p)",
    "spaced": "f = f32[3,5,2,7] reshape(a)\nz = f32[] constant(0)\n"
    "ROOT p = f32[3,5,3,7] pad(f, z), padding=0_0x0_0x0_0_1x0_0",
}


def found(text):
    module = hlo.parse(f"HloModule m\nENTRY e {{ a = f32[3,5,14] parameter(0)\n{text}\n}}")
    return {i.name for i in skewed(module.entry)}


@pytest.mark.parametrize("text", SKEWED.values(), ids=SKEWED)
def test_rows_that_are_cut_anew(text):
    assert found(text) == {"a"}


@pytest.mark.parametrize("text", EVEN.values(), ids=EVEN)
def test_rows_that_stay(text):
    assert found(text) == set()
