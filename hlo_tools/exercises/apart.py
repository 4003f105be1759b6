"""Checks an answer in a process of its own, with limits, so that nothing it does can stop us.

    python -m hlo_tools.exercises.apart WHAT NAME FILE PIPE SECONDS MEGABYTES EXAMPLES

writes what it found to the pipe, as JSON. What the answer prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

# A process that starts threads and maps files waits, too, so it gets longer by the clock.
PATIENCE = 3
# Where the function is that looks at an answer: `module:function`, called on a name and a file.
CHECKS = {
    "exercise": "hlo_tools.exercises.apart:check_number",
    "bug": "hlo_tools.assignments.grade:judge",
}


@dataclass(frozen=True)
class GradedAnswer:
    """The outcome of an answer.

    Attributes
    ----------
    status : "right", or the kind of a finding: "unwritten", "missing", "error", "wrong", "weak",
        "large", "time", "memory", "ended".
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


@dataclass(frozen=True)
class Limits:
    """The limits of a process: CPU time, memory, and how many examples it tries."""

    seconds: int = 60
    megabytes: int = 4096
    examples: int = 100


DEFAULT = Limits()


def check_apart(number: int, path: Path, limits: Limits = DEFAULT) -> GradedAnswer:
    """Check an answer to an exercise in a process of its own."""
    return run_apart("exercise", str(number), path, limits)


def run_apart(what: str, name: str, path: Path, limits: Limits = DEFAULT) -> GradedAnswer:
    """Look at an answer in a process of its own."""
    reading, writing = os.pipe()
    numbers = [writing, limits.seconds, limits.megabytes, limits.examples]
    words = [what, name, str(path), *map(str, numbers)]
    command = [sys.executable, "-m", "hlo_tools.exercises.apart", *words]
    number = int(name) if name.isdigit() else 0
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        subprocess.Popen(
            command,
            pass_fds=[writing],
            stdin=subprocess.DEVNULL,
            stdout=2,
            start_new_session=True,
            env={**os.environ, "TMPDIR": folder},
        ) as process,
    ):
        os.close(writing)
        try:
            process.wait(PATIENCE * limits.seconds)
        except subprocess.TimeoutExpired:
            _end_all(process)
            os.close(reading)
            told = f"it has not come to an end after {PATIENCE * limits.seconds} s"
            return GradedAnswer(number, "time", told)
        # Processes that it has started and left behind would keep the pipe open.
        _end_all(process)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    if not told:
        return _ended(number, process.returncode, limits.seconds)
    return GradedAnswer(**json.loads(told))


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """End a process, and all that it has started in its session."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _ended(number: int, status: int, seconds: int) -> GradedAnswer:
    """A process that said nothing."""
    if -status in (9, 24):  # SIGKILL, SIGXCPU
        return GradedAnswer(
            number, "time", f"it ran for more than {seconds} s: does it come to an end?"
        )
    told = f"signal {-status}" if status < 0 else f"status {status}"
    return GradedAnswer(number, "ended", f"the process ended by itself ({told}), without a result")


def check_here(number: int, path: Path, examples: int = 100, shrinking: float = 8) -> GradedAnswer:
    """Check an answer in this process."""
    from hlo.errors.error import HloError  # noqa: PLC0415
    from hlo_tools.exercises.catalogue import EXERCISES  # noqa: PLC0415
    from hlo_tools.exercises.exercise import SearchEffort  # noqa: PLC0415

    exercise = EXERCISES[number]
    try:
        found = exercise.find(exercise.read(path), SearchEffort(examples, shrinking))
    except HloError as error:
        return GradedAnswer(number, "missing" if error.code == "HLO204" else "error", str(error))
    except MemoryError:
        return GradedAnswer(number, "memory", "it needs more memory than there is")
    if found is None:
        return GradedAnswer(number, "right", f"exercise {number} is right")
    location = found.location
    where = (str(location), location.function) if location else ("", "")
    return GradedAnswer(number, found.kind, found.message, found.shown, *where)


def check_number(number: str, path: Path) -> GradedAnswer:
    """Check an answer as the process is told to."""
    return check_here(int(number), path, int(sys.argv[-1]))


def main(words: list[str]) -> None:
    """Grade one answer, as the process that runs it."""
    from hlo_tools.exercises.limits import limit  # noqa: PLC0415

    what, name, path, pipe, seconds, megabytes, _ = words
    limit(int(seconds), int(megabytes))
    # Of a module that the project made, which says nothing of the answer.
    warnings.filterwarnings("ignore", message="the text leaves out the value")
    module, _, function = CHECKS[what].partition(":")
    report: Any
    try:
        report = getattr(import_module(module), function)(name, Path(path))
    except MemoryError:
        report = GradedAnswer(0, "memory", f"it needs more than {megabytes} MB")
    except SystemExit:
        report = GradedAnswer(0, "ended", "it ends the program, without a result")
    except Exception as error:
        told = f"{type(error).__name__}: {error}".partition("\n")[0]
        report = GradedAnswer(0, "error", told)
    with os.fdopen(int(pipe), "w") as file:
        json.dump(asdict(report), file)


if __name__ == "__main__":
    main(sys.argv[1:])
