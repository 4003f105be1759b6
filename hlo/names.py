"""Unique names: a supply that hands out `add`, then `add.1`, `add.2`, as XLA's NameUniquer does."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_DIGITS = 18
# For so many roots names are looked through; for more, all are taken apart.
_FEW = 8
# Words that mean something by themselves: only after a `%` can they be names.
KEYWORDS = frozenset(
    {
        *("HloModule", "ENTRY", "ROOT", "true", "false", "inf", "nan"),
        *("FileNames", "FunctionNames", "FileLocations", "StackFrames"),
        *("maximal", "replicated", "manual", "unknown", "unreduced"),
        *("last_tile_dim_replicate", "shard_as", "shard_like"),
    }
)
# Types that can be no names, for a shape begins with them.
TYPE_NAMES = frozenset(ELEMENT_TYPES.keys() - {"tuple", "buffer"} | {"opaque"})
# Names that begin so are XLA's own.
_RESERVED, _ALLOWED = "__", "__xla_"
_UNSAFE = re.compile(r"[^A-Za-z0-9_.\-]")


def sanitize(name: str) -> str:
    """A name that the text form can spell: letters, digits, `_`, `.`, `-`, no digit in front."""
    safe = _UNSAFE.sub("_", name)
    return safe if safe[:1].isalpha() or safe[:1] == "_" else "_" + safe


def free_of_keywords(name: str) -> str:
    """The name that XLA gives in place of a keyword: a type's, or one that is XLA's own."""
    if name in TYPE_NAMES:
        return name + "_"
    if name.startswith(_RESERVED) and not name.startswith(_ALLOWED):
        return "a" + name[1:]
    return name


def spelled(name: str) -> str:
    """The name in the text form, as it is read again."""
    return free_of_keywords(sanitize(name))


class NameSupply:
    """Names that are taken, by their stem: the part before a number.

    Parameters
    ----------
    taken : names that are not free. They are looked at when the first name is asked for, and only
        those that are like it: most passes find nothing to do, and need none.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._given = iter(taken)
        self._taken: dict[str, set[int]] = {}
        self._next: dict[str, int] = {}

    def unique(self, wanted: str) -> str:
        """The wanted name if it is free, else the same with the first free number.

        `add.3` stands for number 3 of `add`, and a bare `add` for number 0.
        """
        root, number, is_numbered = _parts(wanted)
        if root not in self._taken:
            self._look_at(root)
        number = self._take(root, number)
        return f"{root}.{number}" if number or is_numbered else root

    def _look_at(self, root: str) -> None:
        """Find the numbers of a root that are taken from the beginning."""
        numbers = self._found(root) if len(self._taken) < _FEW else self._numbers.get(root, [])
        taken = self._taken[root] = set(numbers)
        if len(taken) < len(numbers):  # `add` and `add.0`
            taken.clear()
            for number in numbers:
                self._take(root, number)

    def _found(self, root: str) -> list[int]:
        """The numbers of a root, by a search through all names, which takes little for each."""
        text, wanted, numbers = self._text, f"\n{root}", list[int]()
        begin = text.find(wanted)
        while begin >= 0:
            end = text.index("\n", begin + 1)
            other, number, _ = _parts(text[begin + 1 : end])
            if other == root:
                numbers.append(number)
            begin = text.find(wanted, end)
        return numbers

    @cached_property
    def _names(self) -> list[str]:
        """The names that are taken from the beginning."""
        return list(self._given)

    @cached_property
    def _text(self) -> str:
        """The names that are taken from the beginning, a line each."""
        return "\n".join(["", *self._names, ""])

    @cached_property
    def _numbers(self) -> dict[str, list[int]]:
        """The numbers of names, by stem."""
        numbers: dict[str, list[int]] = {}
        for root, number, _ in map(_parts, self._names):
            numbers.setdefault(root, []).append(number)
        return numbers

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
    """The stem of a name, its number, and whether the number is written."""
    root, _, digits = name.rpartition(".")
    # XLA, too, takes longer numbers for part of the name.
    if root and len(digits) <= _MOST_DIGITS and digits.isascii() and digits.isdigit():
        return root, int(digits), True
    return name, 0, False
