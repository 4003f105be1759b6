"""Pipelines as text, and the standard one where nothing is left to do."""

import pytest
from bodies import module

from hlo.errors.error import HloError
from optimizer import optimize, parse_pipeline, pipeline_text


@pytest.mark.parametrize(
    "text",
    [
        "cse",
        "algebraic-simplifier{strict=true},dce",
        "fix{limit=3}(cse,dce),tuple-simplifier",
        "early(cse{is-layout-sensitive=true},fix(dce))",
    ],
)
def test_pipeline_text_round_trips(text):
    assert pipeline_text(parse_pipeline(text)) == text


def test_names_of_hlo_opt_are_understood():
    assert pipeline_text(parse_pipeline("algsimp")) == "algebraic-simplifier"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "HLO150"),
        ("cse,", "HLO150"),
        ("cse dce", "HLO150"),
        ("fix(cse", "HLO150"),
        ("cse{", "HLO150"),
        ("ces", "HLO151"),
        ("cse{strict=true}", "HLO152"),
        ("algebraic-simplifier{strict=1}", "HLO152"),
        ("fix{limit=many}(cse)", "HLO152"),
        ("fix{limit=2,limit=3}(cse)", "HLO152"),
    ],
)
def test_wrong_pipelines_are_refused(text, code):
    with pytest.raises(HloError) as caught:
        parse_pipeline(text)
    assert caught.value.code == code
    assert caught.value.span is not None


def test_unknown_targets_are_refused():
    with pytest.raises(ValueError, match="'tpu', not one of cpu, gpu"):
        optimize(module("ROOT r = f32[2,3] add(x, y)"), target="tpu")  # type: ignore[arg-type]


def test_optimize_returns_the_same_object_where_nothing_changes():
    before = module("ROOT r = f32[2,3] add(x, y)")
    once = optimize(before)
    assert optimize(once) is once
