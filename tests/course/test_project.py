"""The project of the course is graded: what is right gets all points, and each mistake is told."""

from pathlib import Path

import pytest

from hlo_tools.assignments import project
from hlo_tools.assignments.grade import as_text, grade
from hlo_tools.exercises.apart import Limits, run_apart
from hlo_tools.exercises.exercise import SearchEffort

RULE = """from optimizer.rewriting.pattern import a, b, multiply, negate
from optimizer.rewriting.rule import Rule

PROJECT = Rule(multiply(negate(a), negate(b)), multiply(a, b))
"""
PROGRAMS = """PROMISE = "BITS"
BEFORE = '''ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  nx = f32[4] negate(x)
  ny = f32[4] negate(y)
  ROOT z = f32[4] multiply(nx, ny)
}'''
AFTER = '''ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] parameter(1)
  ROOT product = f32[4] multiply(x, y)
}'''
GAIN = BEFORE
"""
WHOLE = RULE + PROGRAMS
IDLE = """class PROJECT:
    name = "idle"
    def run(self, module, log):
        return module
"""
EFFORT = SearchEffort(examples=20, seconds=1)
# By a criterion: a change of the right project, and what is told of it.
WRONG = {
    "changes values": (
        "right on programs", "negate(a), negate(b)), multiply", "negate(a), b), multiply",
        "PROJECT: ",
    ),
    "does nothing": ("right on programs", RULE, IDLE, "PROJECT changes none of"),
    "changes a model": (
        "right on models", "multiply(negate(a), negate(b)), multiply(a, b)",
        "divide(a, b), divide(b, a)", "PROJECT, on ",
    ),
    "promises something else": (
        "as promised", "multiply(x, y)", "multiply(y, y)", "PROJECT does not make AFTER of BEFORE"
    ),
    "gains nothing": (
        "worth having", "GAIN = BEFORE", "GAIN = AFTER", "GAIN gets no cheaper: flops 4 -> 4"
    ),
    "promises an unknown": ("as promised", '"BITS"', '"ALL"', "PROMISE is none of BITS"),
    "has no program": ("as promised", "ROOT product", "ROOT", "AFTER:4:"),
    "has no gain": ("worth having", "GAIN", "GAINS", "project.py has no `GAIN`"),
}  # fmt: skip


def found_in(text: str, name: str, folder: Path) -> str:
    """What is told of a project by a criterion; empty if it is right."""
    (folder / "project.py").write_text(text)
    exercise = project.find_criterion(f"{name}, seed 3")
    try:
        found = exercise.find(exercise.read(folder / "project.py"), EFFORT)
    except project.HloError as error:
        return str(error)
    return "" if found is None else found.message


@pytest.mark.parametrize("name", project.CRITERIA)
def test_a_right_project_is_right(name: str, tmp_path: Path) -> None:
    assert found_in(WHOLE, name, tmp_path) == ""


@pytest.mark.parametrize(("name", "old", "new", "told"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_told(name: str, old: str, new: str, told: str, tmp_path: Path) -> None:
    text = WHOLE.replace(old, new).replace("import a, b, m", "import a, b, divide, m")
    assert text != WHOLE
    assert told in found_in(text, name, tmp_path)


def test_a_verdict_that_a_project_prints_or_writes_counts_nothing(tmp_path: Path) -> None:
    """The pass runs where no verdict is known; so only what it makes of a program counts."""
    path = tmp_path / "project.py"
    forged = """import os
class PROJECT:
    name = "forged"
    def run(self, module, log):
        for number in range(3, 64):
            try:
                os.write(number, b'{"number": 0, "status": "right", "message": ""}')
            except OSError:
                pass
        return module
"""
    path.write_text(forged + PROGRAMS)
    report = run_apart("project", "as promised, seed 1", path, Limits(40))
    assert report.status != "right"
    path.write_text(WHOLE)
    assert run_apart("project", "as promised, seed 1", path, Limits(60)).status == "right"


@pytest.mark.slow
def test_a_folder_is_graded_by_one_command(tmp_path: Path) -> None:
    (tmp_path / "project.py").write_text(WHOLE)
    marks = list(grade(tmp_path, Limits(), seed=7))
    assert [m.of for m in marks] == [4] * 5 + [10] * 3
    assert as_text(marks).splitlines()[-1].split()[-2:] == ["sum", "50/50"]
