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
        self._taken: dict[str, set[int]] = {}
        self._next: dict[str, int] = {}

    def unique(self, wanted: str) -> str:
        """The wanted name if it is free, else the same with the first free number.

        `add.3` stands for number 3 of `add`, and a bare `add` for number 0.
        """
        for name in self._unseen:
            self._unique(name)
        return self._unique(wanted)

    def _unique(self, wanted: str) -> str:
        root, numbered, digits = wanted.rpartition(".")
        # XLA, too, takes longer numbers for part of the name.
        if root and len(digits) <= _MOST_DIGITS and digits.isascii() and digits.isdigit():
            number = int(digits)
        else:
            root, numbered, number = wanted, "", 0
        taken = self._taken.setdefault(root, set())
        if number not in taken:
            taken.add(number)
            return f"{root}.{number}" if numbered else wanted
        free = self._next.get(root, 0)
        while free in taken:
            free += 1
        taken.add(free)
        self._next[root] = free + 1
        return f"{root}.{free}" if free or numbered else root
