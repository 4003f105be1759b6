"""Grades a student's folder: every answer in a process of its own, with limits."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

import hlo
from hlo.errors.error import HloError
from hlo.verify import verify
from hlo.wording import counted
from hlo_tools.assignments.assignment import read_folder
from hlo_tools.assignments.bugs import all_bugs
from hlo_tools.exercises.apart import GradedAnswer, check_apart, run_apart
from hlo_tools.exercises.catalogue import EXERCISES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from hlo_tools.exercises.apart import Limits

FULL, LARGE, WEAK = 10, 7, 5
# Up to so many instructions, a module that shows a bug gets all points.
SMALL = 12
# So many letters of a message are in the table that is text.
WIDE = 80


@dataclass(frozen=True)
class Mark:
    """The mark of a student for one answer."""

    student: str
    item: str
    status: str
    points: int
    of: int
    message: str


def grade(folder: Path, limits: Limits) -> Iterator[Mark]:
    """The marks of a folder, one after the other."""
    given = read_folder(folder)
    for number, bug in enumerate(given.bugs, 1):
        path = folder / f"bug{number}.hlo"
        report = run_apart("bug", bug.name, path, limits)
        yield mark(folder, f"bug {number} ({bug.kind})", report)
    for number in given.exercises:
        exercise = EXERCISES[number]
        path = folder / f"exercise{number:02}{exercise.suffix}"
        if not path.is_file():
            yield mark(
                folder, f"exercise {number}", GradedAnswer(number, "missing", "no such file")
            )
        else:
            yield mark(folder, f"exercise {number}", check_apart(number, path, limits))


def mark(folder: Path, item: str, report: GradedAnswer) -> Mark:
    """The mark for a report."""
    points = {"right": FULL, "large": LARGE, "weak": WEAK}.get(report.status, 0)
    # A student's table names a student's files as the student does.
    message = report.message.replace(f"{folder.resolve()}/", "").replace(f"{folder}/", "")
    return Mark(folder.name, item, report.status, points, FULL, message)


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
        told = all_bugs()[name].wrong_on(module)
    except HloError as error:
        return GradedAnswer(0, "error", str(error).partition("\n")[0])
    if told is None:
        return GradedAnswer(0, "wrong", "the suspect is right on this module")
    count = sum(1 for _ in module.instructions())
    status = "right" if count <= SMALL else "large"
    return GradedAnswer(0, status, f"found, by {counted(count, 'instruction')}")


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
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(lines)


def as_csv(marks: Sequence[Mark]) -> str:
    """A line a mark, under a line of names."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [f.name for f in fields(Mark)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(m) for m in marks)
    return out.getvalue().rstrip("\n")


def as_json(marks: Sequence[Mark]) -> str:
    """A list of objects."""
    return json.dumps([asdict(m) for m in marks], indent=1)


FORMATS = {"text": as_text, "csv": as_csv, "json": as_json}
