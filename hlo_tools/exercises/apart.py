"""Checks an answer in a process of its own, with limits on time and memory.

    python -m hlo_tools.exercises.apart WHAT NAME FILE RESULT SECONDS MEGABYTES EXAMPLES [PIPES]

writes its finding to the open file RESULT, as JSON. The answer runs in this process, too; where
there is a mark to give, it runs in another one, to which this one has PIPES: see `referee`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING

from hlo_tools.exercises import confine, sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo_tools.exercises.exercise import Exercise, Submission

# So many seconds more than the limit, the sandbox has to end an answer by itself.
PATIENCE = 20
# Bytes of a result that are read.
MOST = 1 << 20
# The status of an answer that has ended, or sends no messages.
GONE = "gone"
# The check that asks the answer in another process.
REFEREED = "hlo_tools.exercises.apart:referee_number"
# Where the function is that looks at an answer: `module:function`, called on a name and a file.
CHECKS = {
    "exercise": "hlo_tools.exercises.apart:check_number",
    "mark": REFEREED,
    "project": REFEREED,
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
    """The limits of an answer, for all of its processes together.

    Attributes
    ----------
    seconds : by the clock, and of processors' time.
    examples : how many it is tried on.
    trust : run it without the sandbox, as the reader's own code.
    """

    seconds: int = 60
    megabytes: int = 4096
    examples: int = 100
    trust: bool = False


DEFAULT = Limits()


def check_apart(number: int, path: Path, limits: Limits = DEFAULT) -> GradedAnswer:
    """Check an answer to an exercise in a process of its own."""
    return run_apart("exercise", str(number), path, limits)


def run_apart(
    check_name: str,
    name: str,
    path: Path,
    limits: Limits = DEFAULT,
    printed: IO[bytes] | None = None,
) -> GradedAnswer:
    """Look at an answer in a process of its own, in the sandbox where the system has one.

    Parameters
    ----------
    check_name : a key of `CHECKS`. For one that is refereed, the answer runs in a third process.
    printed : the file for what the answer prints; by default standard error.
    """
    number = int(name) if name.isdigit() else 0
    out = printed.fileno() if printed else 2
    apart = CHECKS[check_name] == REFEREED and path.suffix != ".hlo"
    with tempfile.TemporaryFile() as result, ExitStack() as stack:
        start = partial(_started, stack, path, limits, out)
        words = [check_name, name, str(path.resolve())]
        words += map(str, (result.fileno(), limits.seconds, limits.megabytes, limits.examples))
        student = None
        if apart:
            asked, asks = os.pipe()
            answers, gives = os.pipe()
            ends = (answers, asks)
            numbers = (asked, gives, limits.seconds, limits.megabytes)
            command = [check_name, name, str(path.resolve()), *map(str, numbers)]
            student = start(["hlo_tools.exercises.referee", *command], (asked, gives))
            for end in (asked, gives):
                os.close(end)
            words += map(str, ends)
        else:
            ends = ()
        process = start(["hlo_tools.exercises.apart", *words], (result.fileno(), *ends))
        for end in ends:
            os.close(end)
        status = _waited(process, limits)
        result.seek(0)
        answer = result.read(MOST)
        with suppress(ValueError, TypeError, RecursionError):
            report = GradedAnswer(**json.loads(answer))
            if report.status != GONE or student is None:
                return report
            status = _waited(student, limits)
    return _ended(number, status, limits)


def _started(
    stack: ExitStack, path: Path, limits: Limits, out: int, words: list[str], files: Sequence[int]
) -> subprocess.Popen[bytes]:
    """A module of Python's that runs, and ends when the stack does, with all that it has started.

    Parameters
    ----------
    out : the file for what it prints.
    files : that are open there.
    """
    from hlo_tools.exercises.exercise import course_folder  # noqa: PLC0415

    command = [sys.executable, "-P", "-m", *words]
    if limits.trust or sandbox.refusal():
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        environment = {**os.environ, "TMPDIR": stack.enter_context(folder)}
    else:
        readable = (path, course_folder())
        command = sandbox.sandboxed(command, readable, limits.seconds, limits.megabytes)
        environment = sandbox.environment()
    process = subprocess.Popen(
        command,
        pass_fds=files,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=out,
        start_new_session=True,
        env=environment,
    )
    stack.callback(_end_all, process)
    return process


def _waited(process: subprocess.Popen[bytes], limits: Limits) -> int:
    """The exit status of a process; it is over time where it does not end."""
    sandboxed = not (limits.trust or sandbox.refusal())
    try:
        return process.wait(limits.seconds + PATIENCE * sandboxed)
    except subprocess.TimeoutExpired:
        return confine.OVER_TIME


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """End a process, and all that it has started in its session."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ended(number: int, status: int, limits: Limits) -> GradedAnswer:
    """A process that said nothing."""
    signal_ = status - 128 if status > 128 else -status
    if status == confine.OVER_TIME or signal_ in (signal.SIGKILL, signal.SIGXCPU):
        why = f"it ran for more than {limits.seconds} s: does it come to an end?"
        return GradedAnswer(number, "time", why)
    if status == confine.OVER_MEMORY:
        why = f"its processes and files need more than {limits.megabytes} MB"
        return GradedAnswer(number, "memory", why)
    if status == confine.OVER_PROCESSES:
        return GradedAnswer(number, "ended", f"it starts more than {confine.PROCESSES} processes")
    why = f"signal {signal_}" if signal_ > 0 else f"status {status}"
    return GradedAnswer(number, "ended", f"the process ended by itself ({why}), without a result")


def check_here(number: int, path: Path, examples: int = 100, shrinking: float = 8) -> GradedAnswer:
    """Check an answer in this process."""
    from hlo_tools.exercises.catalogue import EXERCISES  # noqa: PLC0415

    exercise = EXERCISES[number]
    return checked(exercise, lambda: exercise.read(path), examples, shrinking)


def checked(
    exercise: Exercise, read: Callable[[], Submission], examples: int, shrinking: float = 8
) -> GradedAnswer:
    """Check an answer that is read first."""
    from hlo.errors.error import HloError  # noqa: PLC0415
    from hlo_tools.exercises.exercise import SearchEffort  # noqa: PLC0415

    number = exercise.number
    try:
        mistake = exercise.find(read(), SearchEffort(examples, shrinking))
    except HloError as error:
        return GradedAnswer(number, "missing" if error.code == "HLO204" else "error", str(error))
    except MemoryError:
        return GradedAnswer(number, "memory", "it needs more memory than there is")
    if mistake is None:
        message = f"exercise {number} is right" if number else "no mistake was found"
        return GradedAnswer(number, "right", message)
    location = mistake.location
    where = (str(location), location.function) if location else ("", "")
    return GradedAnswer(number, mistake.kind, mistake.message, mistake.shown, *where)


def check_number(number: str, path: Path) -> GradedAnswer:
    """Check an answer as the process is told to."""
    return check_here(int(number), path, int(sys.argv[7]))


def referee_number(name: str, path: Path) -> GradedAnswer:
    """Judge an answer in another process, to which the last two words are pipes."""
    from hlo_tools.exercises.referee import ask, marked  # noqa: PLC0415
    from hlo_tools.exercises.wire import Wire, WireError  # noqa: PLC0415

    exercise = marked(sys.argv[1], name)
    examples, *pipes = map(int, sys.argv[7:])
    if not pipes:
        return check_here(exercise.number, path, examples)
    try:
        return checked(exercise, lambda: ask(exercise, path, Wire(*pipes)), examples)
    except WireError as error:
        return GradedAnswer(exercise.number, GONE, str(error))


def main(words: list[str]) -> None:
    """Grade one answer, as the process that runs it, or judges it."""
    from hlo_tools.exercises.limits import limit  # noqa: PLC0415

    check_name, name, path, result, seconds, megabytes, *_ = words
    with os.fdopen(int(result), "wb", buffering=0) as file:
        limit(int(seconds), int(megabytes))
        # Of a module that the project made, which says nothing of the answer.
        warnings.filterwarnings("ignore", message="the text leaves out the value")
        report = _report(check_name, name, Path(path), int(megabytes))
        file.write(json.dumps(asdict(report)).encode())
        # What the answer has left for the end does not run.
        sys.stdout.flush()
        os._exit(0)


def _report(check_name: str, name: str, path: Path, megabytes: int) -> GradedAnswer:
    module, _, function = CHECKS[check_name].partition(":")
    import_module("hlo_tools.exercises.catalogue")
    check = getattr(import_module(module), function)
    try:
        return check(name, path)
    except MemoryError:
        return GradedAnswer(0, "memory", f"it needs more than {megabytes} MB")
    except SystemExit:
        return GradedAnswer(0, "ended", "it ends the program, without a result")
    except Exception as error:
        message = f"{type(error).__name__}: {error}".partition("\n")[0]
        return GradedAnswer(0, "error", message)


if __name__ == "__main__":
    main(sys.argv[1:])
