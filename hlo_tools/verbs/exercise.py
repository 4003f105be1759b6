"""Check an exercise of the course.

    hlo exercise                          list the exercises
    hlo exercise 6                        what exercise 6 replaces
    hlo exercise 6 --stub > answer.py     the file to begin with
    hlo exercise 6 answer.py              check an answer

Your function takes the place of the project's own, and the project's own checks run on it. A
mistake is shown on the smallest module found, with its inputs, both results, and the line at which
--pdb stops a debugger.

The answer runs in a process of its own, with --seconds of time, --megabytes of memory, and without
network; on Linux in a sandbox, if the system allows one. The exit status is 0 if it is right, 1 if
it is not.
"""

from __future__ import annotations

import pdb
from pathlib import Path
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo_tools.arguments import at_least
from hlo_tools.exercises import apart
from hlo_tools.exercises.catalogue import EXERCISES, find_exercise
from hlo_tools.exercises.exercise import SearchEffort

if TYPE_CHECKING:
    from argparse import Namespace

    from hlo_tools.arguments import Parser
    from hlo_tools.exercises.apart import GradedAnswer
    from hlo_tools.exercises.exercise import Exercise

RIGHT, WRONG = 0, 1


def add_arguments(parser: Parser) -> None:
    """The verb's command line."""
    parser.add_argument("number", metavar="NUMBER", nargs="?", help="of the exercise")
    parser.add_argument("file", metavar="FILE", nargs="?", help="your answer")
    parser.add_argument("--stub", action="store_true", help="print what to begin with")
    parser.add_argument(
        "--pdb", action="store_true", help="stop a debugger in your function, on the counterexample"
    )
    parser.add_argument(
        "--examples", type=at_least(1), default=100, metavar="N", help="cases to try (default 100)"
    )
    parser.add_argument(
        "--seconds", type=at_least(1), default=60, metavar="N", help="to take (default 60)"
    )
    parser.add_argument(
        "--megabytes", type=at_least(64), default=4096, metavar="N", help="memory (default 4096)"
    )
    parser.not_with("--stub", "--pdb")


def run(arguments: Namespace) -> int:
    """List the exercises, print a stub, or check an answer."""
    if arguments.number is None:
        print(listed())
        return RIGHT
    exercise = find_exercise(arguments.number)
    if arguments.stub:
        print(exercise.stub, end="")
        return RIGHT
    if arguments.file is None:
        print(described(exercise))
        return RIGHT
    path = Path(arguments.file)
    if not path.is_file():
        raise HloError("HLO200", f"cannot read {path}: there is no such file")
    if arguments.pdb:
        return debug(exercise, path, arguments.examples)
    limits = apart.Limits(arguments.seconds, arguments.megabytes, arguments.examples)
    report = apart.check_apart(exercise.number, path, limits)
    print(outcome_text(exercise, report, arguments.file))
    return RIGHT if report.is_right else WRONG


def listed() -> str:
    """A line an exercise."""
    lines = [
        f"{e.number:>4}  chapter {e.chapter:<2}  {e.level:6}  {e.title}"
        for e in sorted(EXERCISES.values(), key=lambda e: (e.chapter, e.number))
    ]
    return "\n".join([*lines, "", "`hlo exercise N --stub > answer.py` writes what to begin with"])


def described(exercise: Exercise) -> str:
    """The task of an exercise."""
    return (
        f"exercise {exercise.number}: {exercise.title} (chapter {exercise.chapter}, "
        f"{exercise.level})\nwants     {', '.join(exercise.wants)}\n"
        f"replaces  {exercise.replaces}\n"
        f"begin     hlo exercise {exercise.number} --stub > answer{exercise.suffix}"
    )


def outcome_text(exercise: Exercise, report: GradedAnswer, file: str) -> str:
    """The outcome of an answer."""
    if report.is_right:
        return f"{report.message}: {exercise.title}"
    parts = [f"exercise {report.number}: {report.message}"]
    parts += [report.shown] if report.shown else []
    if report.breakpoint and report.status in ("wrong", "error"):
        where = f"{report.breakpoint}, in {report.function}"
        parts.append(f"stop there: hlo exercise {report.number} {file} --pdb   ({where})")
    return "\n\n".join(parts)


def debug(exercise: Exercise, path: Path, examples: int) -> int:
    """Stop a debugger in a student's function, on the smallest case on which it is wrong."""
    found = exercise.find(exercise.read(path), SearchEffort(examples))
    if found is None:
        print(f"exercise {exercise.number} is right: {exercise.title}")
        return RIGHT
    print(f"exercise {exercise.number}: {found}\n")
    if found.again is None or found.location is None:
        return WRONG
    debugger = pdb.Pdb()
    debugger.set_break(str(path.resolve()), found.location.line)
    debugger.rcLines.append("continue")
    debugger.runcall(found.again)
    return WRONG
