"""Kinds of failure to minimize a module for: each tells whether a smaller case still fails.

A failure is found once on the whole module, and then asked about smaller ones. It must stay the
same one: a pass that gives a wrong value on the whole module must not end up raising on a part.
"""

from __future__ import annotations

import shlex
import signal
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hlo.backend import without_donations
from hlo.errors.error import HloError
from hlo_tools.search.checking.failure import find_failure
from hlo_tools.values.arrays import save
from hlo_tools.values.bounded import MOST_EVENTS_AFTER, Limit, leaves, run
from interpreter.engine.evaluate import evaluate
from interpreter.numbers.compare import compare
from interpreter.numbers.widths import type_of, widened

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hlo.backend import Backend
    from hlo_tools.search.shrink.case import Case
    from interpreter.numbers.compare import Promise
    from optimizer.log import Pass

Value = Any  # an array, None for a token, or a tuple of values
# After so many it is given up.
_MOST_EVENTS = 5_000_000


# A smaller module may run a loop some times more, and a pass may make loops of instructions.
_MORE_EVENTS, _TIMES_AFTER = 1000, 10


def events_in(case: Case) -> int:
    """The number of instructions that run in a case, until it ends or fails."""
    limit = Limit(_MOST_EVENTS)
    try:
        evaluate(case.module, *(case.arguments or ()), observe=limit)
    except Exception:
        # Whatever it is, so many have run.
        return limit.most - limit.left
    return limit.most - limit.left


class Failing(Protocol):
    """One kind of failure."""

    def failure(self, case: Case) -> str | None:
        """The failure of a case, in a line or several; None if it has none."""
        ...

    def is_same(self, first: str, other: str) -> bool:
        """Whether two answers tell of the same failure."""
        ...


class OfOneKind:
    """Failures whose answers begin with their kind: a broken promise, an error, an exit status."""

    def is_same(self, first: str, other: str) -> bool:
        """Whether the kind is the same."""
        return first.partition(":")[0] == other.partition(":")[0]


@dataclass
class WrongPass(OfOneKind):
    """A pass that breaks a promise of all passes on a module, as of `hlo check`.

    Attributes
    ----------
    most : instructions that may run; 0 until the first module has run.
    """

    pass_: Pass
    most: int = 0

    def failure(self, case: Case) -> str | None:
        """The failure of the pass, its kind first."""
        arguments = list(case.arguments or ())
        # Nothing smaller may run for much longer than the first one.
        self.most = self.most or 2 * events_in(case) + _MORE_EVENTS
        failure = find_failure(
            self.pass_,
            case.module,
            arguments,
            most=self.most,
            most_after=_TIMES_AFTER * self.most,
        )
        return None if failure is None else f"{failure.kind}: {self.pass_.name}: {failure.message}"


@dataclass
class Different(OfOneKind):
    """Two platforms of which one gives another value than the other, or fails."""

    platform: Backend
    reference: Backend
    promise: Promise

    def failure(self, case: Case) -> str | None:
        """The differences of the values."""
        module, arguments = without_donations(case.module), [list(case.arguments or ())]
        try:
            want = self.reference.load(module)(arguments)
        except Exception:
            # There is nothing to compare with.
            return None
        try:
            got = self.platform.load(module)(arguments)
        except HloError as error:
            return f"{error.code}: {self.platform.name} fails: {error.message}"
        difference = compare(got[0], want[0], self.promise)
        names = f"{self.platform.name} and {self.reference.name}"
        return None if difference is None else f"value: {names}: {difference}"


@dataclass
class NotANumber:
    """A NaN, or an infinity, in the value of a module whose arguments have none."""

    infinite: bool = False

    def failure(self, case: Case) -> str | None:
        """In which array it is."""
        arguments = case.arguments or ()
        if any(self._is_in(leaf) for leaf in leaves(tuple(arguments))):
            return None
        try:
            value = run(case.module, arguments, MOST_EVENTS_AFTER)
        except Exception:
            return None
        bad = [n for n, leaf in enumerate(leaves(value)) if self._is_in(leaf)]
        name = "an infinity" if self.infinite else "NaN"
        return f"value: {name} in array {bad[0]} of the result" if bad else None

    def _is_in(self, leaf: Any) -> bool:
        if type_of(leaf).kind not in ("float", "complex"):
            return False
        numbers = widened(leaf)
        return bool((np.isinf(numbers) if self.infinite else np.isnan(numbers)).any())

    def is_same(self, first: str, other: str) -> bool:  # noqa: ARG002
        """There is only one such failure."""
        return True


@dataclass
class Command(OfOneKind):
    """A shell command that fails, with the same exit status, on the file of a module.

    Attributes
    ----------
    text : `{}` in it stands for the file, and `{inputs}` for an `.npz` with the arguments; without
        `{}` the file comes last.
    folder : for these files.
    says : what its output must contain.
    seconds : after which it is ended, and has not failed.
    interesting : status 0 says that the module is still one to look for, as in C-Reduce; by default
        any other status does, as of a test that fails.
    reason : why the last module did not fail; "" if it did.
    """

    text: str
    folder: Path
    says: str = ""
    seconds: float = 60
    interesting: bool = False
    reason: str = ""

    def failure(self, case: Case) -> str | None:
        """The exit status, and the last line of the output."""
        file, inputs = self.folder / "module.hlo", self.folder / "inputs.npz"
        file.write_bytes(str(case.module).encode("utf-8", "surrogateescape"))
        if case.arguments is not None and "{inputs}" in self.text:
            save(str(inputs), [tuple(case.arguments)])
        words = self.text if "{}" in self.text else f"{self.text} {{}}"
        words = words.replace("{inputs}", shlex.quote(str(inputs)))
        words = words.replace("{}", shlex.quote(str(file)))
        try:
            done = subprocess.run(
                words,
                shell=True,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            self.reason = f"the command took more than {self.seconds} s: --timeout allows more"
            return None
        if done.returncode in (-signal.SIGINT, 128 + signal.SIGINT):
            raise KeyboardInterrupt
        output = (done.stdout + done.stderr).decode(errors="replace")
        self.reason = self._reason(done.returncode, output)
        if self.reason:
            return None
        last = next((line for line in reversed(output.splitlines()) if line.strip()), "")
        last_line = f": {last.strip()}" if last.strip() else ""
        return f"{done.returncode}: exit status {done.returncode}{last_line}"

    def _reason(self, status: int, output: str) -> str:
        """The reason why a run does not count as a failure."""
        shows = "on a module that shows the mistake"
        if self.interesting and status:
            return f"the command gave {status}; with --interesting it must give 0 {shows}"
        if not self.interesting and not status:
            note = "where 0 says so, as for C-Reduce, add --interesting"
            return f"the command gave 0; it must fail {shows} ({note})"
        if self.says not in output:
            return f"the command's output has no `{self.says}`"
        return ""


def without_kind(message: str) -> str:
    """An answer for people."""
    return message.partition(": ")[2]


def holds(failing: Failing, first: str, case: Case) -> bool:
    """Whether a case fails as the first one did; it may raise nothing."""
    try:
        message = failing.failure(case)
    except Exception:
        return False
    return message is not None and failing.is_same(first, message)


def arguments_of(per_device: Sequence[Sequence[Value]]) -> tuple[Value, ...]:
    """The arguments of the first device, which all of the search works with."""
    return tuple(per_device[0])
