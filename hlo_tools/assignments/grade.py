"""Grades a student's folder: every answer in a process of its own, with limits."""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

import hlo
from hlo.errors.error import HloError
from hlo.verify import verify
from hlo.wording import counted
from hlo_tools.assignments import assignment, project
from hlo_tools.assignments.assignment import read_folder
from hlo_tools.assignments.bugs import all_bugs
from hlo_tools.exercises.apart import GradedAnswer, run_apart
from hlo_tools.exercises.catalogue import EXERCISES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from hlo_tools.exercises.apart import Limits

# A module's comment that says what the suspect does wrong.
WHY = re.compile(r"^// why:(.*\w.*)$", re.MULTILINE)
FULL, LARGE, WEAK = 10, 7, 5
# Up to so many instructions, a module that shows a bug gets all points.
SMALL = 12
# So many letters of a message are in the table that is text, and of what an answer prints.
WIDE = 80
# Bytes that are read of what an answer prints.
PRINTED = 1 << 12


@dataclass(frozen=True)
class Mark:
    """The mark of a student for one answer.

    Attributes
    ----------
    printed : by the answer, its beginning; on one line.
    """

    student: str
    item: str
    status: str
    points: int
    of: int
    message: str
    printed: str = ""


def grade(folder: Path, limits: Limits, seed: int = 0) -> Iterator[Mark]:
    """The marks of a folder, one after the other: of a project, an assignment, or both.

    Parameters
    ----------
    seed : of the random programs for a project.
    """
    path = folder / project.FILE
    if path.exists():
        for name, criterion in project.criteria(seed):
            yield _graded(name, "project", name, path, limits, criterion.points)
        if not (folder / assignment.FILE).exists():
            return
    parts = read_folder(folder)
    for number, bug in enumerate(parts.bugs, 1):
        path = folder / f"bug{number}.hlo"
        yield _graded(f"bug {number} ({bug.kind})", "bug", bug.name, path, limits)
    for number in parts.exercises:
        path = folder / f"exercise{number:02}{EXERCISES[number].suffix}"
        yield _graded(f"exercise {number}", "mark", str(number), path, limits)


def _graded(
    item: str, check_name: str, name: str, path: Path, limits: Limits, points: int = FULL
) -> Mark:
    # A link could show a file of somebody else.
    if not path.is_file() or path.is_symlink():
        return mark(path.parent, item, GradedAnswer(0, "missing", "no such file"), of=points)
    with tempfile.TemporaryFile() as file:
        report = run_apart(check_name, name, path, limits, file)
        file.seek(0)
        printed = file.read(PRINTED).decode(errors="replace")
    return mark(path.parent, item, report, printed, points)


def mark(folder: Path, item: str, report: GradedAnswer, printed: str = "", of: int = FULL) -> Mark:
    """The mark for a report."""
    points = {"right": of, "large": LARGE, "weak": WEAK}.get(report.status, 0)
    # A student's table names a student's files as the student does.
    message = report.message.replace(f"{folder.resolve()}/", "").replace(f"{folder}/", "")
    words = [_harmless(text) for text in (report.status, message, " | ".join(printed.split("\n")))]
    return Mark(folder.name, item, words[0], points, of, words[1], shortened(words[2].strip(" |")))


def _harmless(text: str) -> str:
    """A text without the characters that a terminal obeys."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def shortened(text: str) -> str:
    """As much of a text as is shown on a line."""
    return text if len(text) <= WIDE else f"{text[:WIDE]}..."


def judge(name: str, path: Path) -> GradedAnswer:
    """Whether a module shows a bug: the suspect is wrong on it, the unmodified project is not."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError):
        return GradedAnswer(0, "missing", "no such file")
    if "ROOT" not in text:
        return GradedAnswer(0, "unwritten", "it is not written yet")
    try:
        module = hlo.parse(text, path.name)
        verify(module)
        mistake = all_bugs()[name].wrong_on(module)
    except HloError as error:
        return GradedAnswer(0, "error", str(error).partition("\n")[0])
    if mistake is None:
        return GradedAnswer(0, "wrong", "the suspect is right on this module")
    count = sum(1 for _ in module.instructions())
    status = "right" if count <= SMALL else "large"
    why = WHY.search(text)
    mistake = f": {why[1].strip()}" if why else ", but not a word on why"
    return GradedAnswer(0, status, f"found, by {counted(count, 'instruction')}{mistake}")


def as_text(marks: Sequence[Mark]) -> str:
    """A table, with the sum of each student."""
    rows = [
        (m.student, m.item, f"{m.points:>2}/{m.of}", m.status, m.message.partition("\n")[0][:WIDE])
        for m in marks
    ]
    for student in dict.fromkeys(m.student for m in marks):
        own = [m for m in marks if m.student == student]
        rows.append(
            (student, "sum", f"{sum(m.points for m in own)}/{sum(m.of for m in own)}", "", "")
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    lines += [f"{m.student}, {m.item}, prints: {m.printed}" for m in marks if m.printed]
    return "\n".join(lines)


def as_csv(marks: Sequence[Mark]) -> str:
    """A line a mark, under a line of names."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [f.name for f in fields(Mark)], lineterminator="\n")
    writer.writeheader()
    writer.writerows({n: _cell(value) for n, value in asdict(m).items()} for m in marks)
    return out.getvalue().rstrip("\n")


def _cell(value: object) -> object:
    """A value of a table: spreadsheets compute a text that begins as a formula does."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value


def as_json(marks: Sequence[Mark]) -> str:
    """A list of objects."""
    return json.dumps([asdict(m) for m in marks], indent=1)


FORMATS = {"text": as_text, "csv": as_csv, "json": as_json}
