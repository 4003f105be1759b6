"""Checks an answer in a process of its own, with limits, so that nothing it does can stop us.

    python -m hlo_tools.exercises.apart WHAT NAME FILE RESULT SECONDS MEGABYTES EXAMPLES

reads a secret from the open file RESULT, and writes the secret and its finding to it, as JSON. An
answer that writes there does not know the secret.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import warnings
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import IO

from hlo_tools.exercises import confine, sandbox, tampering

# So many seconds more than the limit, the sandbox has to end an answer by itself.
PATIENCE = 20
# Bytes of a result, and of what an answer prints, that are read.
MOST = 1 << 20
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
    what: str, name: str, path: Path, limits: Limits = DEFAULT, printed: IO[bytes] | None = None
) -> GradedAnswer:
    """Look at an answer in a process of its own, in the sandbox where the system has one.

    Parameters
    ----------
    printed : the file for what the answer prints; by default standard error.
    """
    number = int(name) if name.isdigit() else 0
    secret = secrets.token_bytes(16)
    with tempfile.TemporaryFile() as result:
        result.write(secret)
        result.seek(0)
        numbers = (result.fileno(), limits.seconds, limits.megabytes, limits.examples)
        words = [what, name, str(path.resolve()), *map(str, numbers)]
        status = _run(words, path, limits, result.fileno(), printed.fileno() if printed else 2)
        result.seek(0)
        told = result.read(MOST)
    with suppress(ValueError, TypeError, RecursionError):
        if told.startswith(secret) and len(told) > len(secret):
            return GradedAnswer(**json.loads(told[len(secret) :]))
    return _ended(number, status, limits)


def _run(words: list[str], path: Path, limits: Limits, result: int, printed: int) -> int:
    """The exit status of a check, after nothing of it runs any more."""
    from hlo_tools.exercises.exercise import course_folder  # noqa: PLC0415

    command = [sys.executable, "-P", "-m", "hlo_tools.exercises.apart", *words]
    seconds = limits.seconds
    with ExitStack() as stack:
        if limits.trust or sandbox.refusal():
            folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
            environment = {**os.environ, "TMPDIR": stack.enter_context(folder)}
        else:
            readable = (path, course_folder())
            command = sandbox.sandboxed(command, readable, seconds, limits.megabytes)
            environment = sandbox.environment()
            seconds += PATIENCE
        process = subprocess.Popen(
            command,
            pass_fds=[result],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            start_new_session=True,
            env=environment,
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return confine.OVER_TIME
        finally:
            _end_all(process)


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """End a process, and all that it has started in its session."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ended(number: int, status: int, limits: Limits) -> GradedAnswer:
    """A process that said nothing."""
    signal_ = status - 128 if status > 128 else -status
    if status == confine.OVER_TIME or signal_ in (signal.SIGKILL, signal.SIGXCPU):
        told = f"it ran for more than {limits.seconds} s: does it come to an end?"
        return GradedAnswer(number, "time", told)
    if status == confine.OVER_MEMORY:
        told = f"its processes and files need more than {limits.megabytes} MB"
        return GradedAnswer(number, "memory", told)
    if status == confine.OVER_PROCESSES:
        return GradedAnswer(number, "ended", f"it starts more than {confine.PROCESSES} processes")
    told = f"signal {signal_}" if signal_ > 0 else f"status {status}"
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

    what, name, path, result, seconds, megabytes, _ = words
    with os.fdopen(int(result), "r+b", buffering=0) as file:
        secret = file.read(MOST)
        file.truncate(0)
        limit(int(seconds), int(megabytes))
        # Of a module that the project made, which says nothing of the answer.
        warnings.filterwarnings("ignore", message="the text leaves out the value")
        report = _report(what, name, Path(path), int(megabytes))
        file.seek(0)
        file.write(secret + json.dumps(asdict(report)).encode())
        # What the answer has left for the end does not run.
        sys.stdout.flush()
        os._exit(0)


def _report(what: str, name: str, path: Path, megabytes: int) -> GradedAnswer:
    module, _, function = CHECKS[what].partition(":")
    import_module("hlo_tools.exercises.catalogue")
    check = getattr(import_module(module), function)
    before = tampering.functions()
    report: GradedAnswer
    try:
        report = check(name, path)
    except MemoryError:
        report = GradedAnswer(0, "memory", f"it needs more than {megabytes} MB")
    except SystemExit:
        report = GradedAnswer(0, "ended", "it ends the program, without a result")
    except Exception as error:
        told = f"{type(error).__name__}: {error}".partition("\n")[0]
        report = GradedAnswer(0, "error", told)
    if changed := tampering.changed(before):
        return GradedAnswer(report.number, "error", f"it replaces {changed}, which checks it")
    return report


if __name__ == "__main__":
    main(sys.argv[1:])
