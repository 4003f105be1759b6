"""Functions that run a student's code, in the process in which the answer is.

A check asks such a function, and judges what it gives. In `hlo exercise` both are one process. When
marks are given, the function runs in a sandbox, and the check does not: see `referee`.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo_tools.exercises.exercise import Submission

Given = ParamSpec("Given")
Result = TypeVar("Result")


def inside(
    function: Callable[Concatenate[Submission, str, Given], Result],
) -> Callable[Concatenate[Submission, str, Given], Result]:
    """Let a function of an answer and a name in it run where the answer is.

    Its other arguments can be pickled, but for functions, which the student's code calls back. Its
    result is data that `wire` knows.
    """

    @wraps(function)
    def run(answer: Submission, name: str, *arguments: Given.args, **_: Given.kwargs) -> Result:
        return answer.run(function, name, *arguments)

    return run


@inside
def called(answer: Submission, name: str, *arguments: Any) -> Any:
    """The result of a student's function."""
    return answer[name](*arguments)
