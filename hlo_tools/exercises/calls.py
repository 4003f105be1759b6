"""Looks for a call on which a student's function gives something else than the project's own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError
from hlo_tools.exercises.answer_process import called
from hlo_tools.exercises.exercise import Submission
from hlo_tools.exercises.finding import Mistake, raised, value_text
from hlo_tools.exercises.limits import CallTooLongError, call_limited
from interpreter.engine.frame import quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@dataclass(frozen=True)
class ShownCall:
    """Arguments of a function, and how they are shown."""

    arguments: tuple[Any, ...]
    shown: str


class Refused:
    """The error of a function that refuses its arguments; one refusal equals any other."""

    def __init__(self, error: Exception | None = None) -> None:
        """Remember the error, for readers."""
        self.error = error

    def __eq__(self, other: object) -> bool:
        """Whether the other is a refusal, too."""
        return isinstance(other, Refused)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __str__(self) -> str:
        """The error, on one line."""
        message = f"{type(self.error).__name__}: {self.error}".partition("\n")[0]
        return f"an error ({message})"


def compare_calls(
    answer: Submission,
    name: str,
    own: Callable[..., Any],
    calls: Iterable[ShownCall],
    *,
    via: Callable[..., Any] = called,
    same: Callable[[Any, Any], bool] = lambda x, y: bool(x == y),
    show: Callable[[Any], str] = value_text,
    may_refuse: bool = False,
) -> Mistake | None:
    """The shortest call on which two functions differ.

    Parameters
    ----------
    via : calls a function, as one of an answer and a name in it, where the answer is.
    same : whether two results are equal.
    may_refuse : an HloError or ValueError counts as a result: where one refuses, so must the other.
    """
    theirs, ours = (
        partial(via, submission, name) for submission in (answer, Submission({name: own}))
    )
    wrong: list[tuple[ShownCall, Any, Any]] = []
    for call in calls:
        want = result_of(ours, call, may_refuse)
        try:
            got = result_of(theirs, call, may_refuse)
        except (Exception, CallTooLongError) as error:
            return _again(raised(name, error, answer.path, call.shown), theirs, call)
        refused = isinstance(want, Refused) or isinstance(got, Refused)
        if (want != got) if refused else not equal(same, want, got):
            wrong.append((call, want, got))
    if not wrong:
        return None
    call, want, got = min(wrong, key=lambda w: len(w[0].shown))
    expected, yours = shown_safely(show, want), shown_safely(show, got)
    shown = f"{call.shown}\n\n// expected  {expected}\n// yours     {yours}"
    mistake = Mistake("wrong", f"{name} gives a wrong result", shown)
    return _again(mistake, theirs, call)


def shown_safely(show: Callable[[Any], str], value: Any) -> str:
    """A result as it is shown; one of a wrong type too."""
    try:
        return show(value) if not isinstance(value, str | Refused) else str(value)
    except Exception:
        return repr(value)


def equal(same: Callable[[Any, Any], bool], want: Any, got: Any) -> bool:
    """Whether two results are equal; one of a wrong type is not."""
    try:
        return bool(same(want, got))
    except Exception:
        return False


def same_truth(want: Any, got: Any) -> bool:
    """Both true or both false; anything but a truth value is wrong."""
    return str(got) in ("True", "False") and bool(want) == bool(got)


def same_items(want: Iterable[Any], got: Iterable[Any]) -> bool:
    """Equal, whether tuples or lists."""
    return tuple(want) == tuple(got)


def same_in_any_order(want: Iterable[Any], got: Iterable[Any]) -> bool:
    """The same items, each as often."""
    return sorted(want) == sorted(got)


def result_of(function: Callable[..., Any], call: ShownCall, may_refuse: bool) -> Any:
    """The result of a function, or its refusal."""
    with quiet(), call_limited():
        if not may_refuse:
            return function(*call.arguments)
        return _or_refused(function, call)


def _or_refused(function: Callable[..., Any], call: ShownCall) -> Any:
    try:
        return function(*call.arguments)
    except (HloError, ValueError) as error:
        return Refused(error)


def _again(mistake: Mistake, function: Callable[..., Any], call: ShownCall) -> Mistake:
    return Mistake(
        mistake.kind,
        mistake.message,
        mistake.shown,
        mistake.location,
        lambda: function(*call.arguments),
    )
