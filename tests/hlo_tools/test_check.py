"""`hlo check`: right passes are let go, wrong ones are shown on a small module."""

import pytest

WRONG = """
from hlo.walk import rebuild, rebuild_module


class Forgetful:
    name = "forgetful"

    def run(self, module, log):
        def change(computation):
            plan = {i: i.operands[0] for i in computation.instructions if i.opcode == "negate"}
            plan = {i: new for i, new in plan.items() if log.rewrite("forget", i, new)}
            return rebuild(computation, plan)

        return rebuild_module(module, change)


forgetful = Forgetful()


class Raising:
    name = "raising"

    def run(self, module, log):
        raise ValueError("not today")
"""


@pytest.fixture
def passes(tmp_path):
    path = tmp_path / "passes.py"
    path.write_text(WRONG)
    return path


def test_right_pass_is_right(hlo) -> None:
    result = hlo("check", "cse,dce", "--examples", 20)
    assert result.status == 0
    assert "right on 20 modules" in result.out


@pytest.mark.parametrize("name", ["Forgetful", "forgetful"])
def test_wrong_pass_is_shown_on_a_small_module(hlo, passes, name) -> None:
    result = hlo("check", f"{passes}:{name}", "--examples", 2000)
    assert result.status == 1
    assert "the value changes" in result.out
    before = result.out.partition("// before")[2].partition("// after")[0]
    assert "negate(" in before
    assert before.count(" = ") <= 3


def test_raising_pass_is_told(hlo, passes) -> None:
    result = hlo("check", f"{passes}:Raising")
    assert result.status == 1
    assert "it raises ValueError: not today" in result.out


@pytest.mark.parametrize(
    ("name", "code"),
    [("passes.py:Forgetfull", "HLO204"), ("nowhere.py:Pass", "HLO200"), ("cs", "HLO151")],
)
def test_unknown_names_are_refused(hlo, passes, monkeypatch, name, code) -> None:
    monkeypatch.chdir(passes.parent)
    result = hlo("check", name)
    assert result.status == 2
    assert code in result.err
