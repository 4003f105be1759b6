"""`hlo check`: right passes are let go, wrong ones are shown on a small module."""

import os
import subprocess
import sys

import pytest

WRONG = """
from hlo.walk import rebuild, rebuild_module
from interpreter.numbers.compare import ROUNDING
from optimizer.rewriting.guards import is_integer
from optimizer.rewriting.pattern import (
    add,
    c1,
    c2,
    maximum,
    minimum,
    multiply,
    subtract,
    x,
    y,
    z,
)
from optimizer.rewriting.rule import Rule


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


class Idle:
    name = "idle"

    def run(self, module, log):
        return module


class Nameless:
    def run(self, module, log):
        return module


def function(module):
    return module


class Runless:
    name = "runless"


class Logless:
    name = "logless"

    def run(self, module):
        return module


class Choosy:
    name = "choosy"

    def __init__(self, choice):
        self.choice = choice


rounding = Rule(add(add(x, c1), c2), add(x, c1 + c2), name="rounding")
turned = Rule(subtract(x, y), subtract(y, x), name="turned")
distributed = Rule(
    multiply(add(x, y), z),
    add(multiply(x, z), multiply(y, z)),
    where=is_integer(x),
    name="distributed",
)
half_distributed = Rule(multiply(add(x, y), z), add(multiply(x, z), multiply(x, z)))
swapped = [Rule(maximum(x, minimum(x, y)), y, promise=ROUNDING)]
"""


@pytest.fixture
def passes(tmp_path):
    path = tmp_path / "passes.py"
    path.write_text(WRONG)
    return path


def test_right_pass_is_right(hlo) -> None:
    result = hlo("check", "cse,dce", "--examples", 20)
    assert result.status == 0
    assert "right on 20 modules: it changes" in result.out
    assert "rewrites, by name" in result.out


def test_rules_are_counted(hlo) -> None:
    result = hlo("check", "tuple-simplifier", "--examples", 40, "--rules")
    assert result.status == 0
    assert "by 2 of 2 rules" in result.out
    assert "tuple_of_all_elements" in result.out


@pytest.mark.parametrize("name", ["Forgetful", "forgetful"])
def test_wrong_pass_is_shown_on_a_small_module(hlo, passes, name) -> None:
    result = hlo("check", f"{passes}:{name}")
    assert result.status == 1
    assert "the value changes" in result.out
    before = result.out.partition("// before")[2].partition("// after")[0]
    assert "negate(" in before
    assert before.count(" = ") <= 2


def test_raising_pass_is_told_with_its_line(hlo, passes) -> None:
    result = hlo("check", f"{passes}:Raising")
    assert result.status == 1
    assert "it raises ValueError: not today (passes.py:39, in run)" in result.out


def test_pass_that_does_nothing_is_not_called_right(hlo, passes) -> None:
    result = hlo("check", f"{passes}:Idle", "--examples", 10)
    assert result.status == 1
    assert "idle changed none of 10 modules, so nothing was checked" in result.out


PRODUCTS = "\n".join(
    f"t{i} = s32[] add(x, p{i - 1})\n p{i} = s32[] multiply(t{i}, t{i})" for i in range(1, 15)
)
PRODUCTS = f"HloModule m\nENTRY e {{ x = s32[] parameter(0)\n p0 = s32[] negate(x)\n {PRODUCTS} }}"


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        (
            "distributed",
            0,
            "first rewrites of 1 module were tested, such as: distributed: the rule",
        ),
        ("half_distributed", 1, "the value changes"),
    ],
)
def test_rule_that_never_ends_is_tested_by_its_first_rewrites(
    hlo, passes, tmp_path, name, status, message
) -> None:
    """A product of fourteen sums has 2^14 terms, and far more where sums are squared."""
    file = tmp_path / "products.hlo"
    file.write_text(PRODUCTS)
    result = hlo("check", f"{passes}:{name}", file, "--examples", 1)
    assert result.status == status
    assert message in result.out


def test_files_are_tried_first(hlo, passes, tmp_path) -> None:
    file = tmp_path / "own.hlo"
    file.write_text("HloModule own\nENTRY e { x = s8[] parameter(0) ROOT n = s8[] negate(x) }")
    result = hlo("check", f"{passes}:Forgetful", file)
    assert "after 0 modules on which it is right" in result.out
    assert "HloModule own" in result.out


def test_a_constant_that_a_file_leaves_out_is_no_warning(hlo, tmp_path, recwarn) -> None:
    """Its numbers are made up, which says nothing of the pass."""
    file = tmp_path / "dumped.hlo"
    file.write_text("""HloModule m
ENTRY e { c = f32[20] constant({...})  n = f32[20] negate(c)  o = f32[20] negate(c)
  ROOT s = f32[20] add(n, o) }""")
    result = hlo("check", "cse", file, "--examples", 1)
    assert result.status == 0
    assert "it changes" in result.out
    assert (result.err, recwarn.list) == ("", [])


@pytest.mark.parametrize("name", ["rounding", "swapped"])
def test_rule_of_ones_own_is_checked(hlo, passes, name) -> None:
    result = hlo("check", f"{passes}:{name}")
    assert result.status == 1
    assert f"{name} is wrong" in result.out


def test_what_a_rule_undoes_itself_is_shown_after_its_first_rewrite(hlo, passes) -> None:
    result = hlo("check", f"{passes}:turned")
    assert result.status == 1
    assert "after its first rewrite, the value changes" in result.out
    assert "subtract(%y, %x)" in result.out.partition("// after")[2]


def test_promise_of_the_command_line_takes_the_place_of_the_rules(hlo, passes) -> None:
    result = hlo("check", f"{passes}:rounding", "--promise", "ROUNDING", "--examples", 60)
    assert result.status == 0
    assert "(promise: ROUNDING)" in result.out


@pytest.mark.parametrize(
    ("name", "code"),
    [("passes.py:Forgetfull", "HLO204"), ("nowhere.py:Pass", "HLO200"), ("cs", "HLO151")],
)
def test_unknown_names_are_refused(hlo, passes, monkeypatch, name, code) -> None:
    monkeypatch.chdir(passes.parent)
    result = hlo("check", name)
    assert result.status == 2
    assert code in result.err
    assert ("there is no such file" in result.err) == (code == "HLO200")


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("Nameless", "class Nameless:", "`Nameless` has no `name`"),
        ("function", "def function(module):", "`function` is a function, not a pass"),
        ("Runless", "class Runless:", "`Runless` has no `run`"),
        ("Logless", "class Logless:", "does not take a module and a log"),
        ("Choosy", "class Choosy:", "`Choosy()` fails: TypeError"),
    ],
)
def test_what_is_no_pass_is_shown_in_the_users_file(hlo, passes, name, line, message) -> None:
    result = hlo("check", f"{passes}:{name}")
    assert result.status == 2
    assert message in result.err
    assert f"| {line}" in result.err
    assert str(passes) in result.err


def test_file_with_one_pass_needs_no_name(hlo, tmp_path) -> None:
    path = tmp_path / "one.py"
    path.write_text("class One:\n    name = 'one'\n    def run(self, m, log):\n        return m\n")
    result = hlo("check", path, "--examples", 3)
    assert "one changed none of 3 modules" in result.out


def test_neighbours_can_be_imported(hlo, tmp_path) -> None:
    (tmp_path / "neighbour_of_it.py").write_text("NAME = 'neighbourly'\n")
    path = tmp_path / "importing.py"
    path.write_text(
        "from neighbour_of_it import NAME\n"
        "class One:\n    name = NAME\n    def run(self, m, log):\n        return m\n"
    )
    assert "neighbourly changed none" in hlo("check", f"{path}:One", "--examples", 3).out


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ("x = (\n", "broken.py:1:1", "'(' was never closed"),
        ("x = 1\ny = x + nothing\n", "broken.py:2:1", "NameError: name 'nothing'"),
        ("\nimport there_is_no_such\n", "broken.py:2:1", "ModuleNotFoundError"),
    ],
)
def test_broken_file_is_the_users_fault(hlo, tmp_path, text, where, message) -> None:
    path = tmp_path / "broken.py"
    path.write_text(text)
    result = hlo("check", f"{path}:One")
    assert result.status == 2
    assert "HLO206" in result.err
    assert where in result.err
    assert message in result.err


def test_no_examples_make_no_sense(hlo) -> None:
    assert hlo("check", "dce", "--examples", 0).status == 2


UNFINISHED = """
from optimizer.rewriting.make import make
from hlo.walk import rebuild, rebuild_module

class Imports:
    name = "imports"

    def run(self, module, log):
        if any(i.opcode == "abs" for i in module.instructions()):
            from hlo.build import no_such_name
        return module

class Typo:
    name = "typo"

    def run(self, module, log):
        return modul if any(i.opcode == "abs" for i in module.instructions()) else module

class Nameless:
    name = "nameless"

    def run(self, module, log):
        def change(computation):
            plan = {
                i: make("copy", make("negate", i.operands[0])) for i in computation.instructions
                if i.opcode == "negate" and i.shape.element_type.is_floating
            }
            return rebuild(computation, {i: n for i, n in plan.items() if log.rewrite("n", i, n)})

        return rebuild_module(module, change)
"""


@pytest.mark.parametrize(
    ("name", "line"),
    [("Imports", "from hlo.build import no_such_name"), ("Typo", "return modul if")],
)
def test_an_unfinished_file_is_no_wrong_pass(hlo, tmp_path, name, line) -> None:
    path = tmp_path / "unfinished.py"
    path.write_text(UNFINISHED)
    result = hlo("check", f"{path}:{name}")
    assert result.status == 2
    assert "HLO206" in result.err
    assert line in result.err
    assert "wrong" not in result.out


def test_names_that_are_taken_are_told_of_the_module_that_is_shown(hlo, tmp_path) -> None:
    path = tmp_path / "unfinished.py"
    path.write_text(UNFINISHED)
    result = hlo("check", f"{path}:Nameless")
    assert result.status == 1
    assert "names.unique(name)" in result.out
    assert "<string>" not in result.out


def test_help_says_what_is_not_tested(hlo) -> None:
    assert "Not tested are" in hlo("check", "--help").out


def test_a_seed_gives_one_counterexample_under_every_hash_seed(tmp_path) -> None:
    path = tmp_path / "passes.py"
    path.write_text(WRONG)
    main = "from hlo_tools.cli import main; raise SystemExit(main())"
    words = [sys.executable, "-c", main, "check", f"{path}:swapped", "--seed", "3"]
    found = {
        subprocess.run(
            words, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=False
        ).stdout
        for seed in ("0", "1", "7")
    }
    assert len(found) == 1
    assert b"is wrong" in found.pop()
