"""The exercises are tested: the stub is unfinished, the project's own is right, wrong ones fail."""

import io
from pathlib import Path

import pytest
from course.blocks import COURSE, unspoilt

from hlo_tools.cli import main
from hlo_tools.exercises import finding, limits
from hlo_tools.exercises.apart import check_apart, check_here
from hlo_tools.exercises.catalogue import EXERCISES
from hlo_tools.exercises.exercise import Exercise, SearchEffort

NUMBERS = list(EXERCISES)
WRONG = [
    path
    for exercise in EXERCISES.values()
    for path in sorted((exercise.folder / "wrong").iterdir())
    if path.suffix == exercise.suffix
]
# A compiler or a long search takes a while; one of the others' wrong answers is tried in each run.
QUICK = {p for i, p in enumerate(WRONG) if i % 3 == (i // 3) % 3 and p.suffix != ".cu"}
# Kernels of CUDA are compiled with all that watches them.
COMPILED = {n for n, e in EXERCISES.items() if e.suffix == ".cu"}


def promised(path: Path) -> str:
    """The message that the first line of a wrong answer says it is told."""
    return path.read_text().partition("\n")[0].partition("message: ")[2]


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=pytest.mark.slow) if n in COMPILED else n for n in NUMBERS]
)
def test_the_projects_own_is_right(number: int) -> None:
    exercise = EXERCISES[number]
    found = exercise.find(exercise.own(), SearchEffort(examples=30))
    assert found is None, str(found)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_stub_is_not_written_yet(number: int) -> None:
    exercise = EXERCISES[number]
    report = check_here(number, exercise.folder / f"stub{exercise.suffix}", 10)
    assert report.status == "unwritten"
    assert "is not written yet" in report.message


@pytest.mark.parametrize(
    "path",
    [p if p in QUICK else pytest.param(p, marks=pytest.mark.slow) for p in WRONG],
    ids=lambda path: f"{path.parts[-3]}-{path.stem}",
)
def test_a_wrong_answer_is_told_what_is_wrong(path: Path) -> None:
    with unspoilt(path.parent):
        report = check_here(int(path.parts[-3]), path, shrinking=2)
    assert not report.is_right
    assert promised(path) in report.message


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda e: str(e.number))
def test_an_exercise_has_three_wrong_answers_and_replaces_something(exercise: Exercise) -> None:
    assert exercise.harder.endswith((".", "?"))
    wrong = [path for path in WRONG if path.parts[-3] == exercise.folder.name]
    assert len(wrong) >= 3
    assert all(map(promised, wrong))
    file, _, name = exercise.replaces.partition(":")
    source = COURSE.parent / file
    assert source.exists()
    text = source.read_text() if source.is_file() else ""
    assert [part for part in name.split(".") if part not in text] == []


ENDLESS_PASS = """class DeadCode:
    name = "endless"
    def run(self, module, log):
        while True: pass
"""
NO_INSTRUCTION = """from optimizer.rewriting.pattern import p, q, transpose, x
from optimizer.rewriting.rule import rule
@rule(transpose(transpose(x, p), q))
def transpose_of_transpose(x, p, q): return p
"""
# By name: an exercise, an answer to it, and a part of the message.
ODD_ANSWERS = {
    "cast": (
        16,
        """import numpy as np
def divide(x, y):
    q = np.trunc(x / np.where(y == 0, 1, y)).astype(np.int32)
    return np.where(y == 0, np.int32(-1), q)""",
        "divide raises RuntimeWarning in line 3: invalid value encountered in cast",
    ),
    "error in a rule": (
        20,
        NO_INSTRUCTION.replace("return p", "return p['a']"),
        "transpose_of_transpose: it raises TypeError: tuple indices",
    ),
    "semicolon": (
        61,
        'extern "C" __global__ void row_sums(float *x) {\n  float p[64]\n  p[0] = 0;\n}',
        "often a `;` is missing at the end of the line before",
    ),
    "endless": (29, "def trips(*_):\n  while True: pass", "to an end after 1 s, in line 2"),
    "endless pass": (25, ENDLESS_PASS, "not come to an end after 1 s, in line 4"),
    "dimensions": (13, "def infer_pad(i, a, x, y): return x.dims", "a tuple, where a Shape is"),
    "text": (43, "def write_sign(instr, x): return '1'", "gives a str, where"),
    "no instruction": (20, NO_INSTRUCTION, "returns a value of type tuple, not an instruction"),
    "error": (8, "def read_slice(text): return [int(text)]", "an error (ValueError: invalid"),
    "list": (76, "PIPELINE = ['dce']", "PIPELINE is a list, not a text"),
}


@pytest.mark.parametrize(("number", "answer", "told"), ODD_ANSWERS.values(), ids=ODD_ANSWERS)
def test_an_answer_of_another_kind_is_told_which_is_wanted(
    number: int, answer: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (limits, finding):
        monkeypatch.setattr(module, "CALL_SECONDS", 1)
    path = tmp_path / f"answer{EXERCISES[number].suffix}"
    path.write_text(answer)
    report = check_here(number, path, shrinking=2)
    assert not report.is_right
    assert told in f"{report.message}\n{report.shown}"


# As the stub says it.
TRIPS = """import operator

def trips(init, step, direction, limit):
    holds, count, value = getattr(operator, direction.lower()), 0, init
    while holds(value, limit):
        count, value = count + 1, value + step
        if not -128 <= value <= 127 or count > 256:
            return None
    return count
"""
# One that knows of no integer that NumPy does not.
DIVIDE = """import numpy as np

def divide(x, y):
    q = np.trunc(x / np.where(y == 0, 1, y)).astype(np.int64).astype(np.int32)
    return np.where(y == 0, np.int32(-1), q)
"""


@pytest.mark.parametrize(("number", "answer"), [(29, TRIPS), (16, DIVIDE)])
def test_an_answer_to_the_words_of_the_stub_is_right(
    number: int, answer: str, tmp_path: Path
) -> None:
    path = tmp_path / "answer.py"
    path.write_text(answer)
    report = check_here(number, path)
    assert report.is_right, report


def test_a_debugger_stops_at_the_line_of_the_error(tmp_path: Path) -> None:
    path = tmp_path / "answer.py"
    path.write_text("def depth(computation):\n    x = []\n\n    return x[1]\n")
    report = check_here(12, path, shrinking=0)
    assert "raises IndexError in line 4" in report.message
    assert (report.breakpoint, report.function) == ("answer.py:4", "depth")


def test_numbers_go_from_one_without_a_gap() -> None:
    assert list(range(1, len(EXERCISES) + 1)) == NUMBERS
    assert len(NUMBERS) >= 24


def test_a_race_is_found_within_the_limits() -> None:
    """The model of a GPU reserves address space; where there is little, it takes less."""
    path = EXERCISES[61].folder / "wrong" / "no_barrier.cu"
    report = check_apart(61, path)
    assert report.message == "row_sums: race", report


def test_the_command_lists_tells_and_prints_stubs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exercise"]) == 0
    assert "find the users of every instruction" in capsys.readouterr().out
    assert main(["exercise", "10"]) == 0
    assert "hlo/walk.py:users" in capsys.readouterr().out
    assert main(["exercise", "10", "--stub"]) == 0
    assert capsys.readouterr().out == EXERCISES[10].stub
    assert main(["exercise", "99"]) == 2
    error = capsys.readouterr().err
    assert "there is no exercise 99" in error
    assert f"they are 1 to {len(EXERCISES)}" in error
    assert main(["exercise", "10", "nowhere.py"]) == 2


def test_a_debugger_stops_in_what_is_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = EXERCISES[42].folder / "wrong" / "all_at_zero.py"
    monkeypatch.setattr("sys.stdin", io.StringIO("p len(blocks)\nq\n"))
    with unspoilt(wrong.parent):
        assert main(["exercise", "42", str(wrong), "--pdb"]) == 1
    told = capsys.readouterr().out
    assert "-> return [0] * len(blocks)" in told
    assert "(Pdb) 2" in told


def test_an_answer_gets_so_much_memory(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    greedy = tmp_path / "exercise42.py"
    stub = EXERCISES[42].stub
    greedy.write_text(f"{stub}\nTAKEN = bytearray(1 << 30)\n")
    assert main(["exercise", "42", str(greedy), "--megabytes", "600"]) == 1
    assert "MemoryError" in capsys.readouterr().out
    assert main(["exercise", "42", str(greedy)]) == 1
    assert "MemoryError" not in capsys.readouterr().out
