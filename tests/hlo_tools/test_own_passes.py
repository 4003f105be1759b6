"""A pass of the user's own in `hlo opt`, `bisect` and `passes`: by its file, or by its package."""

import pytest

pytestmark = pytest.mark.usefixtures("folder")
MODULE = """HloModule m
ENTRY main {
  x = f32[4] parameter(0)
  less = f32[4] negate(x)
  ROOT more = f32[4] negate(less)
}
"""
PASSES = '''"""Passes of a test."""
from dataclasses import dataclass
from hlo.walk import rebuild, rebuild_module
from optimizer.rewriting.make import make
from optimizer.rewriting.pattern import abs_, negate, x
from optimizer.rewriting.rule import Rule

@dataclass(frozen=True)
class Rename:
    """Calls each negate something else."""
    name = "rename"
    suffix: str = "_a"

    def run(self, module, log):
        def change(computation):
            found = [i for i in computation.instructions
                     if i.opcode == "negate" and not i.name.endswith(self.suffix)]
            plan = {i: i.with_(name=i.name + self.suffix) for i in found}
            plan = {i: n for i, n in plan.items() if log.rewrite("rename", i, n)}
            return rebuild(computation, plan)
        return rebuild_module(module, change)

class Failing:
    name = "failing"
    def run(self, module, log):
        return make("add", module.entry.root, module.entry.root.with_(shape=1))

class Empty:
    name = "empty"
    def run(self, module, log):
        pass

class Leaving:
    name = "leaving"
    def run(self, module, log):
        raise SystemExit(0)

wrong = Rule(negate(x), abs_(x), name="negate-is-abs")
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "m.hlo").write_text(MODULE)
    (tmp_path / "mine.py").write_text(PASSES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_own_pass_runs_between_others_with_its_options(hlo) -> None:
    result = hlo("opt", "m.hlo", "--passes", "cse,fix(mine.py:Rename{suffix=_b},dce)", "--log")
    assert result.status == 0, result.err
    assert "ROOT %more_b = f32[4]{0} negate(%less_b)" in result.out
    assert "1 pipeline.fix.rename: rename: %less -> %less_b" in result.err


def test_own_rule_is_bisected(hlo) -> None:
    result = hlo("bisect", "m.hlo", "--passes", "cse,mine.py:wrong")
    assert result.status == 1
    assert "pass pipeline.wrong, rule negate-is-abs" in result.out


def test_unknown_option_is_refused(hlo) -> None:
    result = hlo("opt", "m.hlo", "--passes", "mine.py:Rename{sufix=_b}")
    assert result.status == 2
    assert "HLO152" in result.err
    assert "Rename has no option `sufix`" in result.err
    assert "did you mean `suffix`?" in result.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("sufx=a,sufx=b", "option `sufx` is given twice"),
        ("q=1", "its options are: suffix"),
        ("suffix=", "expected a value, not `}`"),
    ],
)
def test_wrong_options_are_explained(hlo, options: str, told: str) -> None:
    assert told in hlo("opt", "m.hlo", "--passes", f"mine.py:Rename{{{options}}}").err


@pytest.mark.parametrize(("verb", "status"), [("opt m.hlo --passes", 2), ("check", 1)])
def test_a_pass_that_leaves_does_not_end_the_command(hlo, verb: str, status: int) -> None:
    result = hlo(*verb.split(), "mine.py:Leaving")
    assert result.status == status
    assert "SystemExit" in result.out + result.err


def test_a_file_that_leaves_does_not_end_the_command(hlo, folder) -> None:
    (folder / "leaves.py").write_text("import sys\nsys.exit()\n")
    result = hlo("opt", "m.hlo", "--passes", "leaves.py")
    assert result.status == 2
    assert "leaves.py:2:1: error[HLO206]: SystemExit" in result.err


def test_what_a_pass_raises_is_told_with_the_line_of_its_file(hlo) -> None:
    result = hlo("opt", "m.hlo", "--passes", "mine.py:Failing")
    assert result.status == 2
    line = PASSES[: PASSES.index("return make(")].count("\n") + 1
    assert f"mine.py:{line}:9: error[HLO206]: AttributeError" in result.err
    assert "internal error" not in result.err


VERBS = {
    "opt": "m.hlo",
    "step": "m.hlo --script script",
    "view": "m.hlo -o page.html",
    "bisect": "m.hlo",
    "accuracy": "m.hlo",
    "minimize": "m.hlo",
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_tells_the_line_where_an_own_pass_fails(hlo, folder, verb: str) -> None:
    (folder / "script").write_text("n\nn\n")
    result = hlo(verb, *VERBS[verb].split(), "--passes", "mine.py:Failing")
    # That it fails is what `minimize` looks for, and the stepper shows what comes before; of
    # `check`, test_check.py tells.
    assert result.status == {"minimize": 0, "step": 0}.get(verb, 2)
    line = PASSES[: PASSES.index("return make(")].count("\n") + 1
    # `minimize` tells it beside the module on which the pass fails.
    told = f"(mine.py:{line})" if verb == "minimize" else f"mine.py:{line}:9: error[HLO206]"
    assert told in result.out + result.err
    assert "AttributeError" in result.out + result.err
    assert "internal error" not in result.err


def test_what_is_no_module_is_told_too(hlo) -> None:
    result = hlo("opt", "m.hlo", "--passes", "mine.py:Empty")
    assert result.status == 2
    assert "`run` of `empty` returns NoneType, not a module" in result.err


def test_installed_package_offers_a_pass(hlo, folder, monkeypatch) -> None:
    described = folder / "others-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1\n")
    (described / "entry_points.txt").write_text("[pyhlo.passes]\nothers-rename = mine_too:Rename\n")
    (folder / "mine_too.py").write_text(PASSES)
    monkeypatch.syspath_prepend(str(folder))
    result = hlo("opt", "m.hlo", "--passes", "others-rename")
    assert result.status == 0, result.err
    assert "more_a" in result.out
    for verb in ("bisect", "accuracy", "view"):
        assert hlo(verb, "m.hlo", "--passes", "others-rename").status == 0
    (folder / "script").write_text("n\n")
    stepped = hlo("step", "m.hlo", "--passes", "others-rename", "--script", "script")
    assert "rule rename" in stepped.out or "step rename" in stepped.out
    assert "mine_too:Rename" in hlo("passes", "others").out
    result = hlo("opt", "m.hlo", "--passes", "others-renam")
    assert result.status == 2
    assert "others-rename" in result.err
