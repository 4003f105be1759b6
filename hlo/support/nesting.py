"""Work on things nested thousands deep, for which Python's stack is too small."""

from __future__ import annotations

import contextvars
import sys
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

T = TypeVar("T")
# Frames that callers may have used, and bytes of C's stack for each frame of Python's.
_USED, _BYTES = 400, 2048


def unnested(start: Generator[Any, Any, T]) -> T:
    """The result of a generator that yields generators, and is sent the result of each.

    So a function that calls itself becomes a loop: `yield` takes the place of the call.
    """
    stack: list[Generator[Any, Any, Any]] = [start]
    result: Any = None
    while stack:
        try:
            inner = stack[-1].send(result)
        except StopIteration as stop:
            stack.pop()
            result = stop.value
        else:
            stack.append(inner)
            result = None
    return result


def with_stack(frames: int, function: Callable[[], T]) -> T:
    """The result of a function that needs so many frames; with many, in a thread of its own."""
    if frames + _USED < sys.getrecursionlimit():
        return function()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    context = contextvars.copy_context()
    limit, size = sys.getrecursionlimit(), threading.stack_size()
    sys.setrecursionlimit(frames + _USED)
    threading.stack_size(max(1 << 24, frames * _BYTES))
    try:
        thread = threading.Thread(target=context.run, args=[run], daemon=True)
        thread.start()
        # After an interrupt it still runs, so the limit stays.
        thread.join()
        sys.setrecursionlimit(limit)
    finally:
        threading.stack_size(size)
    if errors:
        raise errors[0]
    return results[0]
