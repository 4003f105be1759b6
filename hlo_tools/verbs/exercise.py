"""Check an exercise of the course.

    hlo exercise                          list the exercises
    hlo exercise 6                        what exercise 6 replaces
    hlo exercise 6 --stub > answer.py     the file to begin with
    hlo exercise 6 answer.py              check an answer
    hlo exercise 6 answer.py --watch      check it again after each save
    hlo exercise --done                   list the exercises, and which are done

Your function takes the place of the project's own, and the project's own checks run on it. A
mistake is shown on the smallest module found, with its inputs, both results, and the line at which
--pdb stops a debugger.

The answer runs in a process of its own, with --seconds of time, --megabytes of memory, and without
network; on Linux in a sandbox, if the system allows one. The exit status is 0 if it is right, 1 if
it is not. After a right answer, the project's own is shown beside yours, if it is short, and a
harder variant to think about.
"""

from __future__ import annotations

import pdb
from contextlib import suppress
from inspect import getsource
from pathlib import Path
from textwrap import dedent
from time import sleep
from typing import TYPE_CHECKING

from hlo.errors.error import HloError
from hlo_tools.arguments import at_least
from hlo_tools.exercises import apart, progress
from hlo_tools.exercises.catalogue import EXERCISES, find_exercise
from hlo_tools.exercises.exercise import SearchEffort

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from hlo_tools.arguments import Parser
    from hlo_tools.exercises.apart import GradedAnswer
    from hlo_tools.exercises.exercise import Exercise

RIGHT, WRONG = 0, 1
# Seconds between two looks at a file that is watched.
BETWEEN_LOOKS = 0.2
# An own solution of more lines is not printed.
MOST_LINES = 40


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
    parser.add_argument(
        "--watch", action="store_true", help="check FILE after each save, until Ctrl-C or right"
    )
    parser.add_argument(
        "--done", action="store_true", help="mark the exercises that you have answered rightly"
    )
    for option in ("--pdb", "--watch", "--done"):
        parser.not_with("--stub", option)
    parser.not_with("--watch", "--pdb")
    parser.not_with("NUMBER", "--done")


def run(arguments: Namespace) -> int:
    """List the exercises, print a stub, or check an answer."""
    if arguments.number is None:
        print(listed(progress.done() if arguments.done else {}))
        return RIGHT
    exercise = find_exercise(arguments.number)
    if arguments.stub:
        print(exercise.stub, end="")
        return RIGHT
    if arguments.file is None:
        if arguments.watch:
            raise HloError("HLO202", "--watch needs the FILE that is watched")
        print(described(exercise))
        return RIGHT
    path = Path(arguments.file)
    if not path.is_file():
        raise HloError("HLO200", f"cannot read {path}: there is no such file")
    if arguments.pdb:
        return debug(exercise, path, arguments.examples)
    limits = apart.Limits(arguments.seconds, arguments.megabytes, arguments.examples)
    for _ in versions(path) if arguments.watch else [path]:
        report = apart.check_apart(exercise.number, path, limits)
        print(outcome_text(exercise, report, arguments.file), flush=True)
        if report.is_right:
            progress.add(exercise.number)
            return RIGHT
    return WRONG


def versions(path: Path) -> Iterator[Path]:
    """A file, and again after each change of it; for a moment, it may not be there."""
    before = None
    while True:
        with suppress(FileNotFoundError):
            status = path.stat()
            if (now := (status.st_mtime_ns, status.st_size, status.st_ino)) != before:
                before = now
                yield path
        sleep(BETWEEN_LOOKS)


def listed(done: dict[int, str]) -> str:
    """A line an exercise.

    Parameters
    ----------
    done : the day on which an exercise was done, if it was.
    """
    rows = sorted(EXERCISES.values(), key=lambda e: (e.chapter, e.number))
    lines = [
        f"{e.number:>4}  chapter {e.chapter:<2}  {e.level:6}  {e.title}{_before(e)}"
        + (f"  (done on {done[e.number]})" if e.number in done else "")
        for e in rows
    ]
    last = "`hlo exercise N --stub > answer.py` writes what to begin with"
    if done:
        left = [e.number for e in rows if e.number not in done]
        last = f"{len(rows) - len(left)} of {len(rows)} done"
        last += f"; the next one: hlo exercise {left[0]}" if left else ""
    return "\n".join([*lines, "", last])


def _before(exercise: Exercise) -> str:
    """The number that an exercise had before, if it was another one."""
    number = progress.former(exercise.number)
    return "" if number == exercise.number else f" (was {number})"


def described(exercise: Exercise) -> str:
    """The task of an exercise."""
    return (
        f"exercise {exercise.number}: {exercise.title} (chapter {exercise.chapter}, "
        f"{exercise.level}){_before(exercise)}\nwants     {', '.join(exercise.wants)}\n"
        f"replaces  {exercise.replaces}\n"
        f"begin     hlo exercise {exercise.number} --stub > answer{exercise.suffix}"
    )


def outcome_text(exercise: Exercise, report: GradedAnswer, file: str) -> str:
    """The outcome of an answer."""
    if report.is_right:
        own, harder = own_text(exercise), exercise.harder
        return f"{report.message}: {exercise.title}{own}\n\nharder: {harder}"
    parts = [f"exercise {report.number}: {report.message}"]
    parts += [report.shown] if report.shown else []
    if report.breakpoint and report.status in ("wrong", "error"):
        where = f"{report.breakpoint}, in {report.function}"
        parts.append(f"stop there: hlo exercise {report.number} {file} --pdb   ({where})")
    return "\n\n".join(parts)


def own_text(exercise: Exercise) -> str:
    """The project's own functions, if they are short; or where to find them."""
    parts = [f"\n\nthe project's own is in {exercise.replaces.partition(':')[0]}"]
    for make in exercise.wants.values():
        own = make()
        try:
            source = dedent(getsource(own)).rstrip()
        except (OSError, TypeError):  # an object, or text
            continue
        if source.count("\n") < MOST_LINES:
            parts.append(source)
    return "\n\n".join(parts)


def debug(exercise: Exercise, path: Path, examples: int) -> int:
    """Stop a debugger in a student's function, on the smallest case on which it is wrong."""
    mistake = exercise.find(exercise.read(path), SearchEffort(examples))
    if mistake is None:
        print(f"exercise {exercise.number} is right: {exercise.title}")
        return RIGHT
    print(f"exercise {exercise.number}: {mistake}\n")
    if mistake.again is None or mistake.location is None:
        return WRONG
    debugger = pdb.Pdb()
    debugger.set_break(str(path.resolve()), mistake.location.line)
    debugger.rcLines.append("continue")
    debugger.runcall(mistake.again)
    return WRONG
