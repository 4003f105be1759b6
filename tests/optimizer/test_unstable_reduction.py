"""Reductions that lose what they add are named, and nothing else is."""

import warnings

import pytest

import hlo
from hlo.errors.error import HloError
from optimizer import parse_pipeline
from optimizer.diagnostics.unstable_reduction_detector import UnstableReductionWarning

MODULE = """HloModule m
f {{
  a = {type}[] parameter(0)
  b = {type}[] parameter(1)
  ROOT c = {type}[] {opcode}(a, b)
}}
ENTRY main {{
  x = {type}[8] parameter(0)
  zero = {type}[] constant(0)
  ROOT r = {type}[] reduce(x, zero), dimensions={{0}}, to_apply=f
}}
"""


def module(type_, opcode):
    return hlo.parse(MODULE.format(type=type_, opcode=opcode))


@pytest.mark.parametrize(("type_", "opcode"), [("bf16", "add"), ("f16", "multiply")])
def test_narrow_sums_and_products_are_unstable(type_, opcode):
    made = module(type_, opcode)
    with pytest.warns(UnstableReductionWarning, match=f"r accumulates in {type_}"):
        assert parse_pipeline("unstable-reduction-detector").run(made) is made
    with pytest.raises(HloError) as caught:
        parse_pipeline("unstable-reduction-detector{fail=true}").run(made)
    assert caught.value.code == "HLO154"
    assert caught.value.span is not None


@pytest.mark.parametrize(
    ("type_", "opcode"),
    [("f32", "add"), ("s8", "add"), ("bf16", "maximum"), ("f16", "minimum")],
)
def test_others_are_stable(type_, opcode):
    made = module(type_, opcode)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse_pipeline("unstable-reduction-detector{fail=true}").run(made)
        assert parse_pipeline("unstable-reduction-detector").run(made) is made
