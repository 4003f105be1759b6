"""Assignments are tested: the project's own search finds each planted bug.

What shows a bug is right on the unmodified project; what is handed in by mistake stops nobody.
"""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from course.searches import find_bug

import hlo
import optimizer
from emit_c.table import emits_c
from hlo_tools.assignments.assignment import chosen, make_folder, read_folder
from hlo_tools.assignments.bugs import (
    KINDS,
    Bug,
    all_bugs,
    given_for,
    kernel_verdict,
    pass_verdict,
    plan_verdict,
)
from hlo_tools.assignments.grade import Mark, as_csv, as_json, as_text, grade, judge, mark
from hlo_tools.cli import main
from hlo_tools.exercises import sandbox
from hlo_tools.exercises.apart import GradedAnswer, Limits
from hlo_tools.exercises.catalogue import EXERCISES
from hlo_tools.search.checking.failure import find_failure
from optimizer.cleanup.dce import Dce
from optimizer.memory import buffer_assignment

BUGS = all_bugs()
# Each takes a search of its own, and a compiler for kernels: a few of each kind are tried always.
QUICK = {
    name for kind in KINDS for name in [b.name for b in BUGS.values() if b.kind == kind][1:20:9]
}


def test_there_are_many_kinds() -> None:
    assert len(BUGS) >= 100
    assert {bug.kind for bug in BUGS.values()} == set(KINDS)


def unmodified(bug: Bug) -> Callable[[hlo.Module], str | None]:
    """The verdict on the project's own, in the place of what a bug was planted in."""
    if bug.kind == "kernel":
        (opcode,) = bug.opcodes
        return kernel_verdict(opcode, emits_c[opcode])
    if bug.kind == "plan":
        return plan_verdict(buffer_assignment.pack)
    # The simplifier runs before copies matter: a module that needs its copies is not for it.
    names = ["algebraic-simplifier"] if bug.kind == "rule" else ["cse", "dce"]
    own = [pass_verdict(optimizer.PASSES[name]()) for name in names]
    return lambda module: next(filter(None, (wrong_on(module) for wrong_on in own)), None)


@pytest.mark.parametrize(
    "bug",
    [b if b.name in QUICK else pytest.param(b, marks=pytest.mark.slow) for b in BUGS.values()],
    ids=lambda bug: bug.name,
)
def test_the_project_finds_the_bug(bug: Bug, tmp_path: Path) -> None:
    found = find_bug(bug, seconds=2)
    assert found is not None
    path = tmp_path / "bug.hlo"
    path.write_text(str(found))
    report = judge(bug.name, path)
    assert report.status in ("right", "large"), report
    assert unmodified(bug)(found) is None


def test_there_are_no_more_bugs_than_all() -> None:
    most = chosen(1, 1000, 1000)
    assert {bug.name for bug in most.bugs} == set(all_bugs())
    assert most.exercises == tuple(sorted(EXERCISES))
    assert most.bugs[:8] == chosen(1, 8, 1).bugs


def test_every_student_gets_another_set() -> None:
    sets = [chosen(seed, bugs=4, exercises=3) for seed in range(12)]
    assert len({tuple(b.name for b in each.bugs) for each in sets}) == len(sets)
    assert all({b.kind for b in each.bugs} == set(KINDS) for each in sets)
    assert chosen(5, 4, 3) == chosen(5, 4, 3)


INNOCENT = "ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] cosine(x) }"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", "unwritten"),
        ("ENTRY e { ROOT x = f32[2] paramter(0) }", "error"),
        (INNOCENT, "wrong"),
        ("\udcff ROOT", "missing"),
    ],
)
def test_what_shows_no_bug_gets_no_points(text: str, status: str, tmp_path: Path) -> None:
    path = tmp_path / "bug.hlo"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    for kind in KINDS:
        name = next(b.name for b in BUGS.values() if b.kind == kind)
        assert judge(name, path).status == status


def test_the_unmodified_project_is_accused_of_nothing() -> None:
    module = hlo.parse(INNOCENT)
    assert find_failure(Dce(), module, *given_for(module)) is None


MARKS = [
    Mark("ada", "bug 1 (rule)", "right", 10, 10, "found, by 3 instructions"),
    Mark("ada", "exercise 10", "weak", 5, 10, 'it leaves "more"'),
    Mark("ben", "bug 1 (plan)", "unwritten", 0, 10, "it is not written yet"),
]


def test_tables_say_the_same() -> None:
    assert [m["points"] for m in json.loads(as_json(MARKS))] == [10, 5, 0]
    rows = list(csv.DictReader(io.StringIO(as_csv(MARKS))))
    assert [row["message"] for row in rows] == [m.message for m in MARKS]
    assert ["ada", "sum", "15/20"] in [line.split() for line in as_text(MARKS).splitlines()]


def test_a_folder_is_made_tried_and_graded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["assignment", "make", "--seed", "3", "--bugs", "1", "--exercises", "1"]) == 0
    folder = tmp_path / "student-3"
    assert (folder / "README.md").read_text().startswith("# Assignment 3")
    (tmp_path / "innocent.hlo").write_text(INNOCENT)
    assert main(["assignment", "try", "student-3", "1", "innocent.hlo"]) == 1
    assert "right on this module" in capsys.readouterr().out
    assert main(["assignment", "make", "--seed", "3"]) == 2
    assert "there is something in it already" in capsys.readouterr().err
    assert main(["assignment", "grade", str(tmp_path)]) == 2


def test_without_a_sandbox_the_grader_asks_for_trust(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "refusal", lambda: "Operation not permitted")
    make_folder(tmp_path / "ada", seed=7, bugs=1, exercises=0)
    assert main(["assignment", "grade", str(tmp_path / "ada")]) == 2
    told = capsys.readouterr().err
    assert "error[HLO208]: this system has no sandbox: Operation not permitted" in told
    assert "--trust" in told
    assert main(["assignment", "grade", str(tmp_path / "ada"), "--trust"]) == 1
    assert "not written yet" in capsys.readouterr().out


def test_what_an_answer_prints_stands_after_the_table() -> None:
    """On a line, with the student's name, and without what a terminal would obey."""
    report = GradedAnswer(10, "wrong", "users is \x1b[2Jwrong")
    printed = mark(Path("ada"), "exercise 10", report, "one\ntwo \x1b[31m" + 100 * "x")
    table = as_text([printed, MARKS[2]]).splitlines()
    assert table[0] == "ada  exercise 10    0/10  wrong      users is ?[2Jwrong"
    assert table[-1] == f"ada, exercise 10, prints: one | two ?[31m{65 * 'x'}..."
    assert "'=1+1" in as_csv([mark(Path("ada"), "exercise 10", report, "=1+1")])


def test_a_link_is_no_answer(tmp_path: Path) -> None:
    """It could show a file of the teacher's."""
    make_folder(tmp_path / "ada", seed=7, bugs=1, exercises=0)
    (tmp_path / "ada" / "bug1.hlo").unlink()
    (tmp_path / "ada" / "bug1.hlo").symlink_to(__file__)
    (found,) = grade(tmp_path / "ada", Limits())
    assert found.status == "missing"


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"seed": 1e999, "bugs": 1, "exercises": 1}', "1" * 10**6]
)
def test_a_file_that_is_no_assignment_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "assignment.json").write_text(text)
    with pytest.raises(hlo.HloError, match="it is no assignment"):
        read_folder(tmp_path)


def test_a_suspect_shows_what_it_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rule or a pass its rewrites, a kernel its C; also where they are right."""
    made = make_folder(tmp_path / "ada", seed=7, bugs=4, exercises=0)
    for number, bug in enumerate(made.bugs, 1):
        if bug.kind in ("rule", "pass", "kernel"):
            path = tmp_path / f"{bug.kind}.hlo"
            path.write_text(str(find_bug(bug, seconds=1)))
            words = ["assignment", "try", str(tmp_path / "ada"), str(number), str(path)]
            main(words)
            before = "".join(capsys.readouterr())
            main([*words, "--log"])
            after = "".join(capsys.readouterr())
            assert len(after) > len(before)
            assert bug.kind != "kernel" or "void" in after
            assert bug.kind == "kernel" or "1 : " in after


def test_a_sentence_says_why(tmp_path: Path) -> None:
    bug = next(b for b in BUGS.values() if b.kind == "rule")
    path = tmp_path / "bug.hlo"
    text = str(find_bug(bug, seconds=1))
    path.write_text(f"// why: it forgets -0\n{text}")
    assert judge(bug.name, path).message.endswith(": it forgets -0")
    path.write_text(f"// why:\n{text}")
    assert judge(bug.name, path).message.endswith(", but not a word on why")


# Bodies of answers: what each does, and what may be told of it.
HANDED_IN = {
    "exercise18.py": ("while True: pass", "time"),
    "exercise22.py": ("x = []\n    while True: x.append(bytearray(1 << 26))", "error time memory"),
    "exercise34.py": (
        "import urllib.request\n    urllib.request.urlopen('http://localhost:9')",
        "error",
    ),
}
WHOLE = {
    "bug1.hlo": (INNOCENT, "wrong"),
    "exercise09.hlo": ("", "wrong error unwritten"),
    "exercise08.py": ("def emit(:", "error"),
    "exercise61.cu": ("", "missing"),
}
DEPTH = """def depth(computation):
    found = {}
    for instr in computation.instructions:
        found[instr] = 1 + max((found[o] for o in instr.operands), default=0)
    return max(found.values())
"""


@pytest.mark.slow
def test_nothing_that_is_handed_in_stops_the_grader(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Answers that are right, wrong, empty, no Python; that hang, eat memory, want the network."""
    folder = tmp_path / "ada"
    make_folder(folder, seed=505, bugs=4, exercises=7)
    for name, (body, _) in HANDED_IN.items():
        stub = (folder / name).read_text()
        (folder / name).write_text(
            stub.replace('raise NotImplementedError("not written yet")', body)
        )
    for name, (text, _) in WHOLE.items():
        (folder / name).write_text(text)
    (folder / "exercise12.py").write_text(DEPTH)
    options = ["--seconds", "20", "--megabytes", "1500", "--format", "json"]
    assert main(["assignment", "grade", str(folder), *options]) == 1
    marks = json.loads(capsys.readouterr().out)
    wanted = {n: w for n, (_, w) in (WHOLE | HANDED_IN).items()} | {"exercise12.py": "right"}
    wanted |= {f"bug{n}.hlo": "unwritten" for n in (2, 3, 4)}
    told = {n: m["status"] for n, m in zip(sorted(wanted), marks, strict=True)}
    assert all(told[name] in wanted[name].split() for name in wanted), marks
    assert [m["points"] for m in marks].count(10) == 1
    assert not any(str(tmp_path) in m["message"] for m in marks)


@pytest.mark.slow
def test_stubs_get_no_points_and_solutions_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    made = make_folder(tmp_path / "ada", seed=1, bugs=4, exercises=2)
    assert main(["assignment", "grade", str(tmp_path / "ada"), "--format", "json"]) == 1
    assert {m["status"] for m in json.loads(capsys.readouterr().out)} == {"unwritten"}
    for number, bug in enumerate(made.bugs, 1):
        (tmp_path / "ada" / f"bug{number}.hlo").write_text(str(find_bug(bug)))
    for number in made.exercises:
        exercise = EXERCISES[number]
        for wrong in sorted((exercise.folder / "wrong").glob(f"*{exercise.suffix}"))[:1]:
            (tmp_path / "ada" / f"exercise{number:02}{exercise.suffix}").write_text(
                wrong.read_text()
            )
    main(["assignment", "grade", str(tmp_path / "ada"), "--format", "json"])
    marks = json.loads(capsys.readouterr().out)
    assert [m["points"] >= 7 for m in marks] == [True] * 4 + [False] * 2
