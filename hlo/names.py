"""Unique names: a supply that hands out `add`, then `add.1`, `add.2`, as XLA's NameUniquer does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_DIGITS = 18
_UNSAFE = re.compile(r"[^A-Za-z0-9_.\-]")


def sanitize(name: str) -> str:
    """A name that the text form can spell: letters, digits, `_`, `.`, `-`, no digit in front."""
    safe = _UNSAFE.sub("_", name)
    return safe if safe[:1].isalpha() or safe[:1] == "_" else "_" + safe


class NameSupply:
    """Names that are taken, by what stands before their number.

    Parameters
    ----------
    taken : names that are not free. They are looked at when the first name is asked for: most
        passes find nothing to do, and need none.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._unseen = iter(taken)
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def unique(self, wanted: str) -> str:
        """The wanted name if it is free, else the same with the first free number.

        `add.3` stands for number 3 of `add`, and a bare `add` for number 0.
        """
        self._taken.update(self._unseen)
        root, numbered, digits = wanted.rpartition(".")
        # XLA, too, takes longer numbers for part of the name.
        if root and len(digits) <= _MOST_DIGITS and digits.isascii() and digits.isdigit():
            number = int(digits)
        else:
            root, numbered, number = wanted, "", 0
        if not self._is_taken(root, number):
            name = f"{root}.{number}" if numbered else wanted
        else:
            free = self._next.get(root, 0)
            while self._is_taken(root, free):
                free += 1
            self._next[root] = free + 1
            name = f"{root}.{free}" if free or numbered else root
        self._taken.add(name)
        return name

    def _is_taken(self, root: str, number: int) -> bool:
        return f"{root}.{number}" in self._taken or (number == 0 and root in self._taken)
