"""Unique names: a supply that hands out `add`, then `add.1`, `add.2`, as XLA's NameUniquer does."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache
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
        self._taken: defaultdict[str, set[int]] = defaultdict(set)
        self._next: dict[str, int] = {}

    def unique(self, wanted: str) -> str:
        """The wanted name if it is free, else the same with the first free number.

        `add.3` stands for number 3 of `add`, and a bare `add` for number 0.
        """
        for root, number, _ in map(_parts, self._unseen):
            taken = self._taken[root]
            # Nearly all are free.
            if number in taken:
                self._take(root, number)
            taken.add(number)
        root, number, is_numbered = _parts(wanted)
        number = self._take(root, number)
        return f"{root}.{number}" if number or is_numbered else root

    def _take(self, root: str, number: int) -> int:
        """Take a number of a root, or the first free one if somebody has it."""
        taken = self._taken[root]
        if number in taken:
            number = self._next.get(root, 0)
            while number in taken:
                number += 1
            self._next[root] = number + 1
        taken.add(number)
        return number


# Pass after pass takes the same names of one module.
@lru_cache(maxsize=1 << 17)
def _parts(name: str) -> tuple[str, int, bool]:
    """What stands before the number of a name, the number, and whether it is written."""
    root, _, digits = name.rpartition(".")
    # XLA, too, takes longer numbers for part of the name.
    if root and len(digits) <= _MOST_DIGITS and digits.isascii() and digits.isdigit():
        return root, int(digits), True
    return name, 0, False
