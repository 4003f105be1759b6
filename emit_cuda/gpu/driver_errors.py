"""Errors of NVIDIA's driver, in words that name the operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo.errors.error import HloError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class DriverErrors:
    """Turns errors of the driver inside of a `with` into HLO192.

    Parameters
    ----------
    kind : the class of the driver's errors.
    about : the operation, for the message.
    notes : gives the notes of an error.
    """

    __slots__ = ("_about", "_kind", "_notes")

    def __init__(
        self, kind: type[Exception], about: str, notes: Callable[[], Sequence[str]]
    ) -> None:
        self._kind, self._about, self._notes = kind, about, notes

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, self._kind):
            message = f"{self._about}: {error}"
            raise HloError("HLO192", message, notes=self._notes()) from error
