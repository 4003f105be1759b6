"""A backend in a process of its own, which may crash, hang, and use up its memory."""

from __future__ import annotations

import multiprocessing
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hlo.backend import without_donations
from hlo.backend_names import find
from hlo.errors.error import HloError
from hlo_tools.conformance.behaviours import BEHAVIOURS, BrokenPromiseError, copied

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    from hlo.backend import Backend
    from hlo.instruction import Module

Value = Any  # an array, None for a token, or a tuple of values
# A call of a small module that takes longer hangs.
SECONDS = 60.0


@dataclass(frozen=True)
class Answer:
    """The answer of a backend.

    Attributes
    ----------
    kind : "value", "refused", "crashed" or "broken".
    detail : why there is no value.
    value : of the module; of a behaviour, pairs of arguments and values.
    """

    kind: str
    detail: str = ""
    value: Value = None


@dataclass
class Isolated:
    """A process that answers for a backend, and is started again when it dies.

    It raises the HloError of a backend that can't be used at all, such as HLO194 without a GPU.

    Parameters
    ----------
    name : of the backend, as `hlo.backend_names.find` takes it.
    """

    name: str
    seconds: float = SECONDS
    _process: BaseProcess | None = None
    _there: Connection | None = None
    started: int = field(default=0)

    def value(self, module: Module, arguments: tuple[Value, ...]) -> Answer:
        """The value of a module."""
        return self._ask(("value", module, arguments))

    def behave(self, number: int) -> Answer:
        """The values of the calls of a behaviour, by its place in `BEHAVIOURS`."""
        return self._ask(("behave", number, ()))

    def _ask(self, question: tuple[str, Any, Any]) -> Answer:
        if self._process is None:
            self._start()
        assert self._there is not None
        try:
            self._there.send(question)
            if not self._there.poll(self.seconds):
                self.close()
                return Answer("crashed", f"there is no answer after {self.seconds:.0f} s")
            answer: Answer = self._there.recv()
        except (EOFError, OSError):
            return Answer("crashed", f"the process ended: {self._end()}")
        if isinstance(answer.value, HloError):
            raise answer.value
        return answer

    def _end(self) -> str:
        """The way in which the process ended: a signal, or a status."""
        process = self._process
        assert process is not None
        process.join(5)
        code = process.exitcode or 0
        self.close()
        return signal.Signals(-code).name if code < 0 else f"exit status {code}"

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._there, here = context.Pipe()
        self._process = context.Process(target=_serve, args=(self.name, here), daemon=True)
        self._process.start()
        here.close()
        self.started += 1

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._there is not None:
            self._there.close()
        self._process = self._there = None


def _serve(name: str, there: Connection) -> None:
    """Answer questions for ever."""
    backend = find(name)
    while True:
        try:
            question: tuple[str, Any, tuple[Value, ...]] = there.recv()
        except EOFError:
            return
        try:
            answer = Answer("value", value=_value(backend, *question))
        except BrokenPromiseError as error:
            answer = Answer("broken", str(error))
        except (HloError, NotImplementedError) as error:
            code = error.code if isinstance(error, HloError) else "HLO181"
            kind = "refused" if code in REFUSALS else "crashed"
            answer = Answer(kind, _short(error), error if code in UNUSABLE else None)
        except (Exception, SystemExit) as error:
            answer = Answer("crashed", f"{type(error).__name__}: {error}")
        there.send(answer)


def _value(backend: Backend, question: str, asked: Any, arguments: tuple[Value, ...]) -> Value:
    if question == "value":
        loaded = backend.load(without_donations(asked))
        return copied(loaded([list(arguments)])[0])
    behaviour = BEHAVIOURS[int(asked)]
    return behaviour.ask(backend, behaviour.module)


# Errors by which a backend says that it can't do something: our own have these.
REFUSALS = frozenset({"HLO122", "HLO181", "HLO196", "HLO203", "HLO116"})
# Nothing can be asked without a compiler, a GPU, or a file of the user's that can be read.
UNUSABLE = frozenset({"HLO180", "HLO194", "HLO195", "HLO200"})


def _short(error: Exception) -> str:
    if not isinstance(error, HloError):
        return str(error)
    place = f"{error.span.source.name}:{error.span.line}: " if error.span else ""
    return f"{place}{error.code}: {error.message}"
