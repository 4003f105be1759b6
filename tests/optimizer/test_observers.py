"""Fuel, and observers: they verify, check values, trace, dump, time and print."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from bodies import module, simplified

import hlo
import optimizer
from hlo.errors.error import HloError
from optimizer import Log, parse_pipeline
from optimizer.log import Silent
from optimizer.observers import CheckValues, Dump, Print, Timer, Trace, Verify
from optimizer.rewriting.make import make
from optimizer.rewriting.pattern import (
    negate,
    slice_,
    x,
)
from optimizer.rewriting.rewrite import rewrite
from optimizer.rewriting.rule import Rule, RuleSet

THREE = "a = f32[2,3] add(x, zeros)\n b = f32[2,3] negate(a)\n ROOT c = f32[2,3] negate(b)"


def test_fuel_stops_after_so_many_rewrites():
    texts = [str(simplified("algebraic-simplifier", THREE, fuel=n)) for n in range(4)]
    assert texts[0] == str(module(THREE))
    assert len(set(texts)) == 3
    assert texts[2] == texts[3] == str(simplified("algebraic-simplifier", THREE))


def test_a_skipped_rewrite_stays_undone():
    after = simplified("fix(algebraic-simplifier,dce)", THREE, skip=frozenset({1}))
    assert [i.opcode for i in after.entry.instructions].count("add") == 1
    assert "negate" not in {i.opcode for i in after.entry.instructions}


def test_a_pass_does_not_run_again_on_what_it_left():
    ran = []

    class Ran(Silent):
        def before(self, pass_, module, log):  # noqa: ARG002
            ran.append(pass_.name)

    alone = simplified("dce", "ROOT r = f32[2,3] negate(x)")
    assert parse_pipeline("dce,cse,dce").run(alone, Log(observers=[Ran()])) is alone
    assert ran == ["dce", "cse"]


def test_trace_keeps_every_rewrite():
    trace = Trace()
    simplified("algebraic-simplifier", THREE, observers=[trace])
    assert [(e.number, e.rule, e.old.name) for e in trace.events] == [
        (1, "add(x, 0) => x", "a"),
        (2, "negate(negate(x)) => x", "c"),
    ]
    assert "negate(negate(x)) => x: %c -> %x" in str(trace.events[1])


class Breaking:
    name = "breaking"

    def run(self, before, log):  # noqa: ARG002
        entry = before.entry
        return hlo.Module(
            before.name,
            before.computations,
            hlo.Computation(entry.name, entry.instructions[1:], entry.root),
        )


class Lying:
    name = "lying"

    def run(self, before, log):  # noqa: ARG002
        wrong = make("negate", before.entry.root).with_(name="wrong")
        entry = hlo.Computation("main", (*before.entry.instructions, wrong), wrong)
        return hlo.Module(before.name, (entry,), entry, before.header)


def test_verifier_says_which_pass_broke_the_module():
    with pytest.raises(HloError) as caught:
        Log(observers=[Verify()]).run(Breaking(), module(THREE))
    assert "breaking" in str(caught.value)


def test_verifier_says_which_rule_broke_the_module():
    class Wrong:
        name = "wrong"

        def run(self, before, log):
            rules = RuleSet([Rule(negate(x), slice_(x, slice=()), name="stand on your head")])
            return rewrite(before, rules, log)

    before = module("t = f32[3,2] reshape(x)\n ROOT n = f32[3,2] negate(t)")
    with pytest.raises(HloError) as caught:
        Log(observers=[Verify()]).run(Wrong(), before)
    assert "ROOT n = f32[3,2] negate(t)" in str(caught.value)
    assert "before `stand on your head` in the pass wrong" in str(caught.value)


def test_changed_values_are_found():
    ones = np.ones((2, 3), np.float32)
    with pytest.raises(HloError) as caught:
        Log(observers=[CheckValues([(ones, ones)])]).run(Lying(), module(THREE))
    assert caught.value.code == "HLO153"
    assert "lying" in caught.value.message


def test_dumps_have_the_names_that_xla_gives(tmp_path):
    run = parse_pipeline("algebraic-simplifier,cse,dce")
    Log(observers=[Dump(tmp_path)]).run(run, module(THREE))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "module_0000.test.0000.pipeline.after_pipeline-start.before_algsimp.txt",
        "module_0000.test.0001.pipeline.after_algsimp.before_cse.txt",
        "module_0000.test.after_optimizations.txt",
        "module_0000.test.before_optimizations.txt",
    ]
    assert all(hlo.parse(path.read_text()) for path in tmp_path.iterdir())


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_dumps_name_the_passes_between_which_they_are(target, tmp_path):
    """Also where passes are left out because they left this very module before."""
    text = (Path(__file__).parents[1] / "models" / "layer_norm.hlo").read_text()
    pipeline = optimizer.pipeline(target)
    after = Log(observers=[Dump(tmp_path, target)]).run(pipeline, hlo.parse(text))
    names = sorted(
        path.name.removeprefix("module_0000.jit_layer_norm.") for path in tmp_path.iterdir()
    )
    assert not any(" " in name for name in names)
    assert (
        tmp_path / f"module_0000.jit_layer_norm.{target}_after_optimizations.txt"
    ).read_text() == str(after)
    order = [p.name.replace(" ", "_") for p in pipeline.passes]
    halves = {f"{target}-optimization": order}
    if target == "cpu":  # XLA has two pipelines there
        middle = order.index("layout-assignment") + 1
        sides = zip(("through", "after"), (order[:middle], order[middle:]), strict=True)
        halves = {f"HLO_passes_{side}_layout_assignment": half for side, half in sides}
    assert "algebraic-simplifier" not in "".join(names)
    for called, passes in halves.items():
        pairs = [list(pair) for pair in pairwise(["pipeline-start", *passes, "pipeline-end"])]
        between = [
            name.split(".after_")[1].removesuffix(".txt").split(".before_")
            for name in names
            if f".{called}.after_" in name
        ]
        assert between[0] == pairs[0]
        assert all(pair in pairs for pair in between)


def test_each_turn_of_a_fixpoint_is_dumped_as_a_pipeline(tmp_path):
    """As in XLA, where a fixpoint runs a pipeline again and again."""
    Log(observers=[Dump(tmp_path)]).run(
        parse_pipeline("fix(algebraic-simplifier,dce)"), module(THREE)
    )
    names = sorted(path.name.removeprefix("module_0000.test.") for path in tmp_path.iterdir())
    assert names == [
        "0000.pipeline.after_pipeline-start.before_fix.txt",
        "0001.fix.after_pipeline-start.before_algsimp.txt",
        "0002.fix.after_algsimp.before_dce.txt",
        "0003.fix.after_pipeline-start.before_algsimp.txt",
        "0004.pipeline.after_fix.before_pipeline-end.txt",
        "after_optimizations.txt",
        "before_optimizations.txt",
    ]


def test_dumps_that_cannot_be_written_are_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(hlo.HloError, match="HLO200"):
        Log(observers=[Dump(tmp_path / "file")]).run(parse_pipeline("dce"), module(THREE))


def test_timer_and_printer():
    timer, printed = Timer(), []
    run = parse_pipeline("fix(algebraic-simplifier),dce")
    Log(observers=[timer, Print(printed.append, ["algebraic-simplifier"])]).run(run, module(THREE))
    assert timer.runs == {"algebraic-simplifier": 2, "fix": 1, "dce": 1, "pipeline": 1}
    assert "algebraic-simplifier" in timer.report()
    assert len(printed) == 1
    assert printed[0].startswith("// after pipeline.fix.algebraic-simplifier\nHloModule test")
