"""`hlo exercise` remembers what is done, and watches a file."""

from pathlib import Path

import pytest

from hlo_tools.cli import main
from hlo_tools.exercises import progress
from hlo_tools.exercises.catalogue import EXERCISES
from hlo_tools.verbs import exercise

RIGHT = """
def peak(blocks):
    moments = {first for block in blocks for first, _ in block.spans}
    needed = lambda block, t: any(first <= t <= last for first, last in block.spans)
    return max((sum(b.size for b in blocks if needed(b, t)) for t in moments), default=0)
"""
WRONG = "def peak(blocks):\n    return 0\n"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "pyhlo" / "exercises.json"


def test_a_right_answer_is_remembered_and_the_own_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = tmp_path / "answer.py"
    answer.write_text(RIGHT)
    assert main(["exercise", "41", str(answer), "--examples", "5"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("exercise 41 is right: find the worst moment\n")
    assert "the project's own is in optimizer/memory/heap.py\n\ndef peak(blocks" in shown
    assert shown.endswith(f"\n\nharder: {EXERCISES[41].harder}\n")
    assert main(["exercise", "--done"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert next(line for line in lines if "(done on " in line).strip().startswith("41 ")
    assert lines[-1].startswith("1 of ")
    assert lines[-1].endswith("; the next one: hlo exercise 1")


def test_a_file_is_checked_after_each_save(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends with the right answer; a moment without a file is no error."""
    answer = tmp_path / "answer.py"
    answer.write_text(WRONG)
    saves = [answer.unlink, lambda: answer.write_text(RIGHT)]
    monkeypatch.setattr(exercise, "sleep", lambda _: saves.pop(0)())
    assert main(["exercise", "41", str(answer), "--watch", "--examples", "5"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("peak gives a wrong result") < shown.index("exercise 41 is right")


@pytest.mark.parametrize("text", ["", "[", "[1]", '{"x": 1}'])
def test_a_broken_file_is_no_progress(state: Path, text: str) -> None:
    state.parent.mkdir(parents=True)
    state.write_text(text)
    assert progress.done() == {}
    progress.add(3)
    progress.add(3)
    assert list(progress.done()) == [3]


def test_progress_from_before_the_new_numbers_is_kept(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was exercise 29 is 41 today; the list tells both."""
    state.parent.mkdir(parents=True)
    state.write_text('{"29": "2026-11-01", "66": "2026-11-02", "99": "2026-11-03"}')
    kept = {1: "2026-11-02", 41: "2026-11-01"}
    assert progress.done() == kept
    progress.add(29)
    assert {n: day for n, day in progress.done().items() if n != 29} == kept
    assert main(["exercise", "--done"]) == 0
    shown = capsys.readouterr().out
    assert "find the worst moment (was 29)  (done on 2026-11-01)" in shown
    assert "  29  chapter 8   medium  count the iterations of a loop (was 25)  (done on" in shown


def test_an_exercise_had_at_most_one_number() -> None:
    old = sorted(n for n in progress.FORMERLY if n)
    assert old == list(range(1, len(old) + 1))
    assert len(progress.FORMERLY) <= len(EXERCISES)
