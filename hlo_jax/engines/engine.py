"""The interface of every engine."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ctypes import c_bool

    from emit_c.executable.executable import Native

    Arrays = Sequence[Any]


class Engine(Protocol):
    """A program, ready to be called.

    Attributes
    ----------
    name : of the way in which it runs now.
    native : how C calls it without Python; None where it can't.
    note : what there is to say about it, such as why it is not another engine.
    code_bytes : of machine code.
    stops : whether a call on one device may run in the queue, and ends if `ask_whether_to_stop`
        says so.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def native(self) -> Native | None: ...  # noqa: D102
    @property
    def note(self) -> str: ...  # noqa: D102
    @property
    def code_bytes(self) -> int: ...  # noqa: D102
    @property
    def stops(self) -> bool: ...  # noqa: D102

    def run(self, per_device: Sequence[Arrays]) -> Sequence[Arrays]:
        """Run the program on the arguments of each device, and return the results of each.

        Arguments are not changed. Results may share memory with them.
        """
        ...


# Set as soon as nobody wants the call that runs here; a deep program's own thread inherits it.
CANCELLED: Final[ContextVar[c_bool | None]] = ContextVar("CANCELLED", default=None)


def ask_whether_to_stop() -> None:
    """Stop as Ctrl-C would if nobody wants the call any more."""
    cancelled = CANCELLED.get()
    if cancelled:  # a c_bool is true or false as its value is
        raise KeyboardInterrupt


def flat(value: Any) -> Arrays:
    """The arrays of a module's value, which is one array or a tuple of them."""
    return cast("Arrays", value) if isinstance(value, tuple) else (value,)
