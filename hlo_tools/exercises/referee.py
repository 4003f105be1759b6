"""Judges an answer that runs in another process, which knows of no verdict.

Each check runs here, in a process that loads nothing of the student's. Where it asks the answer,
the student's process computes, in a sandbox of its own, and sends data back. Whatever code does
there, it can only give answers; whether they are right is decided here.

    python -m hlo_tools.exercises.referee WHAT NAME FILE INCOMING OUTGOING SECONDS MEGABYTES

is the student's process.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from types import new_class
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError
from hlo.instruction import Module
from hlo_tools.exercises.answer_process import called
from hlo_tools.exercises.exercise import Exercise, Submission
from hlo_tools.exercises.finding import (
    FunctionLocation,
    Mistake,
    ToldError,
    ToldHloError,
    ToldRefusalError,
    raised,
)
from hlo_tools.exercises.limits import CallTooLongError, call_limited
from hlo_tools.exercises.wire import Unknown, Wire, WireError, heard, of_trusted, told, trusted
from interpreter.engine.frame import quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Kinds of mistakes that a student's process may tell of its own function.
KINDS = ("unwritten", "error", "time")
CODE = re.compile(r"HLO\d{3}")
# Where what is marked is found by its name.
MARKED = {
    "mark": "hlo_tools.exercises.catalogue:find_exercise",
    "project": "hlo_tools.assignments.project:find_criterion",
}
# Letters of what an exception says.
MOST_TOLD = 2000


@dataclass(frozen=True, eq=False)
class RemoteSubmission(Submission):
    """A student's answer in another process."""

    wire: Wire = field(default_factory=lambda: Wire(-1, -1))

    @property
    def is_apart(self) -> bool:
        """It is."""
        return True

    def __getitem__(self, name: str) -> Any:
        """The value of a name, or what calls the function that has it."""
        value = self._asked("value", name, (), [])
        if not isinstance(value, Unknown):
            return value
        return partial(called, self, name)

    def location(self, name: str) -> FunctionLocation | None:
        """The location of a function, as the student's process tells it."""
        place = self._asked("location", name, (), [])
        return _location(place)

    def run(self, function: Callable[..., Any], name: str, *arguments: Any) -> Any:
        """The result of a function that runs there.

        Raises
        ------
        ToldError
            if the student's code raises something.
        WireError
            if the process has ended, or does not keep to the rules.
        """
        where = f"{function.__module__}:{function.__qualname__}"
        return self._asked(where, name, arguments, [g for g in arguments if isinstance(g, Module)])

    def _asked(
        self, verb: str, name: str, parameters: tuple[Any, ...], modules: list[Module]
    ) -> Any:
        functions: list[Callable[..., Any]] = []
        self.wire.send(trusted((verb, name, parameters), functions))
        while True:
            match heard(self.wire.receive(), modules):
                case ("value", value):
                    return value
                case ("raised", error):
                    raise _told_error(error)
                case ("call", int(number), arguments) if number in range(len(functions)):
                    self.wire.send(_called_back(functions[number], arguments))
                case _:
                    raise WireError("it sends no answer")


def _called_back(function: Callable[..., Any], arguments: Any) -> bytes:
    """The message with the result of a function of the check's, called by a student's."""
    try:
        return trusted(("value", function(*arguments)), [])
    except Exception as error:
        return trusted(("raised", f"{type(error).__name__}: {error}"), [])


def _location(location: Any) -> FunctionLocation | None:
    match location:
        case (str(file), int(line), str(function)):
            return FunctionLocation(file[:MOST_TOLD], line, function[:MOST_TOLD])
        case _:
            return None


def _told_error(error: Any) -> Exception:
    """The exception that a student's process tells of."""
    match error:
        case {
            "type": str(name), "told": str(text), "kind": str(kind), "message": str(message),
            "location": where, "refuses": bool(refuses), "code": str(code),
        }:  # fmt: skip
            kind = kind if kind in KINDS else "error"
            mistake = Mistake(kind, message[:MOST_TOLD], location=_location(where))
            if CODE.fullmatch(code):
                return ToldHloError(mistake, code, text[:MOST_TOLD])
            base: type[ToldError] = ToldRefusalError if refuses else ToldError
            shown = name if name.isidentifier() and len(name) < 80 else "Exception"
            return new_class(shown, (base,))(mistake, text[:MOST_TOLD])
        case _:
            raise WireError("it sends no error")


def marked(check_name: str, name: str) -> Exercise:
    """The exercise of a number, or the criterion of a name."""
    module, _, function = MARKED[check_name].partition(":")
    return getattr(import_module(module), function)(name)


def ask(exercise: Exercise, path: Path, wire: Wire) -> RemoteSubmission:
    """The answer in the process at the other end.

    Raises
    ------
    HloError
        as `Exercise.read` does.
    """
    match heard(wire.receive()):
        case ("read",):
            return RemoteSubmission(dict.fromkeys(exercise.wants), path, "", wire)
        case ("failed", str(code), str(message)) if CODE.fullmatch(code):
            raise HloError(code, message[:MOST_TOLD])
        case _:
            raise WireError("it sends no greeting")


class Performer:
    """The student's process: does what the referee asks, and judges nothing."""

    def __init__(self, answer: Submission, wire: Wire) -> None:
        self.answer, self.wire = answer, wire

    def all(self) -> None:
        """Do all that is asked, until the referee is gone."""
        while True:
            try:
                message = self.wire.receive()
            except WireError:
                return
            request, name, arguments = of_trusted(message, self.call_back)
            self.wire.send(self.answered(request, name, arguments))

    def answered(self, request: str, name: str, arguments: tuple[Any, ...]) -> bytes:
        """The message with a result."""
        try:
            with quiet(), call_limited():
                value = told(self.result(request, name, arguments), _modules(arguments))
            return _message("value", value)
        except (Exception, CallTooLongError) as error:
            return _message("raised", told(self.told_of(name, error)))

    def result(self, request: str, name: str, arguments: tuple[Any, ...]) -> Any:
        """The value, the location of a function, or the result of a function that is asked for."""
        if request == "value":
            value = self.answer.values[name]
            return Unknown("", "") if callable(value) else value
        if request == "location":
            return _parts(self.answer.location(name))
        module, _, function = request.partition(":")
        return getattr(import_module(module), function)(self.answer, name, *arguments)

    def told_of(self, name: str, error: BaseException) -> Mapping[str, Any]:
        """What the referee is told of an exception."""
        mistake = raised(name, error, self.answer.path)
        where = mistake.location
        at = f" ({where.file}:{where.line}, in {where.function})" if where else ""
        text = error.message if isinstance(error, HloError) else str(error)
        return {
            "type": type(error).__name__, "told": f"{text}{at}",
            "kind": mistake.kind, "message": mistake.message, "location": _parts(where),
            "refuses": isinstance(error, HloError | ValueError),
            "code": error.code if isinstance(error, HloError) else "",
        }  # fmt: skip

    def call_back(self, number: int, arguments: tuple[Any, ...]) -> Any:
        """The result of a function of the referee's."""
        self.wire.send(_message("call", number, told(arguments)))
        kind, value = of_trusted(self.wire.receive(), self.call_back)
        if kind == "raised":
            raise TypeError(value)
        return value


def _modules(arguments: tuple[Any, ...]) -> list[Module]:
    return [argument for argument in arguments if isinstance(argument, Module)]


def _message(*parts: Any) -> bytes:
    return json.dumps({"tuple": list(parts)}).encode()


def _parts(where: FunctionLocation | None) -> tuple[str, int, str] | None:
    return (where.file, where.line, where.function) if where else None


def main(words: list[str]) -> None:
    """Perform, as the student's process."""
    from hlo_tools.exercises.limits import limit  # noqa: PLC0415

    check_name, name, path, *numbers = words
    incoming, outgoing, seconds, megabytes = map(int, numbers)
    wire, exercise = Wire(incoming, outgoing), marked(check_name, name)
    limit(seconds, megabytes)
    try:
        answer = exercise.read(Path(path))
    except HloError as error:
        wire.send(_message("failed", error.code, str(error)))
    else:
        wire.send(_message("read"))
        Performer(answer, wire).all()
    # What the answer has left for the end does not run.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
