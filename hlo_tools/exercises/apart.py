"""Checks an answer in a process of its own, with limits, so that nothing it does can stop us.

    python -m hlo_tools.exercises.apart NUMBER FILE PIPE SECONDS MEGABYTES EXAMPLES

writes what it found to the pipe, as JSON. What the answer prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# A process that starts threads and maps files waits, too, so it gets longer by the clock.
PATIENCE = 3


@dataclass(frozen=True)
class Report:
    """What came of an answer.

    Attributes
    ----------
    status : "right", or the kind of a finding: "unwritten", "missing", "error", "wrong", "weak",
        "time", "memory", "ended".
    shown : the counterexample, if there is one.
    breakpoint : where to stop a debugger, as file:line, and in which function.
    """

    number: int
    status: str
    message: str
    shown: str = ""
    breakpoint: str = ""
    function: str = ""

    @property
    def is_right(self) -> bool:
        """Whether nothing was found."""
        return self.status == "right"


def check_apart(
    number: int, path: Path, *, seconds: int = 60, megabytes: int = 4096, examples: int = 100
) -> Report:
    """Check an answer in a process of its own."""
    reading, writing = os.pipe()
    words = [number, path, writing, seconds, megabytes, examples]
    command = [sys.executable, "-m", "hlo_tools.exercises.apart", *map(str, words)]
    with subprocess.Popen(
        command, pass_fds=[writing], stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(),
        start_new_session=True,
    ) as process:  # fmt: skip
        os.close(writing)
        try:
            process.wait(PATIENCE * seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            os.close(reading)
            return Report(number, "time", f"it was still waiting after {PATIENCE * seconds} s")
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    if not told:
        return _ended(number, process.returncode, seconds)
    return Report(**json.loads(told))


def _ended(number: int, status: int, seconds: int) -> Report:
    """A process that said nothing."""
    if -status in (9, 24):  # SIGKILL, SIGXCPU
        return Report(number, "time", f"it ran for more than {seconds} s: does it come to an end?")
    told = f"signal {-status}" if status < 0 else f"status {status}"
    return Report(number, "ended", f"the process ended by itself ({told}), without a result")


def check_here(number: int, path: Path, examples: int = 100, shrinking: float = 8) -> Report:
    """Check an answer in this process."""
    from hlo.errors.error import HloError  # noqa: PLC0415
    from hlo_tools.exercises.catalogue import EXERCISES  # noqa: PLC0415
    from hlo_tools.exercises.exercise import Effort  # noqa: PLC0415

    exercise = EXERCISES[number]
    try:
        found = exercise.find(exercise.read(path), Effort(examples, shrinking))
    except HloError as error:
        return Report(number, "missing" if error.code == "HLO204" else "error", str(error))
    except MemoryError:
        return Report(number, "memory", "it needs more memory than there is")
    if found is None:
        return Report(number, "right", f"exercise {number} is right")
    place = found.place
    where = (str(place), place.function) if place else ("", "")
    return Report(number, found.kind, found.message, found.shown, *where)


def main(words: list[str]) -> None:
    """What the process does."""
    from hlo_tools.exercises.limits import limit  # noqa: PLC0415

    number, path, pipe, seconds, megabytes, examples = words
    limit(int(seconds), int(megabytes))
    report: Any
    try:
        report = check_here(int(number), Path(path), int(examples))
    except MemoryError:
        report = Report(int(number), "memory", f"it needs more than {megabytes} MB")
    except SystemExit:
        report = Report(int(number), "ended", "it ends the program, without a result")
    except Exception as error:
        told = f"{type(error).__name__}: {error}".partition("\n")[0]
        report = Report(int(number), "error", told)
    with os.fdopen(int(pipe), "w") as file:
        json.dump(asdict(report), file)


if __name__ == "__main__":
    main(sys.argv[1:])
