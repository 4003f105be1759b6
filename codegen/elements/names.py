"""Identifiers and comments made from HLO names, which no HLO text can turn into code.

HLO text is untrusted. An identifier keeps only letters, digits and underscores; a comment keeps
only printable ASCII, and no backslash or `??` that would join it with the next line.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST = 48
# Words of C, and names that its compilers predefine.
C_WORDS = frozenset(
    {
        *("auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else"),
        *("enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register"),
        *("restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch"),
        *("typedef", "union", "unsigned", "void", "volatile", "while", "asm", "typeof", "main"),
        *("unix", "linux", "errno"),
    }
)
# The ends of names that all functions of a file see.
_GLOBAL = ("_kernel", "_constant", "_computation")


def comment(text: str) -> str:
    """Lines of comment that hold a text, one for each of its lines."""
    lines = map(commented, text.split("\n"))
    return "".join(f"// {line}".rstrip() + "\n" for line in lines)


def commented(line: str, width: int = 400) -> str:
    """A line as a comment can hold it, with at most `width` characters of it."""
    line = line[:width]
    if line.isascii() and line.isprintable() and "\\" not in line and "??" not in line:
        return line
    safe = "".join(c if " " <= c <= "~" and c != "\\" else f"<{ord(c):x}>" for c in line)
    return safe.replace("??", "? ?").replace("??", "? ?")


@lru_cache(maxsize=4096)
def identifier(name: str) -> str:
    """A C identifier that looks like a name."""
    letters = "".join([c if c.isascii() and c.isalnum() else " " for c in name])
    word = "_".join(letters.split())[:LONGEST].strip("_")
    return word if word[:1].isalpha() else f"v{word}"


def _numbered(word: str) -> tuple[str, str]:
    """A word without the number at its end, and the number; "" if there is none."""
    stem, bar, last = word.rpartition("_")
    return (stem, last) if bar and last.isdigit() else (word, "")


def _stem(word: str) -> str:
    """A word without all numbers at its end."""
    number = "start"
    while number:
        word, number = _numbered(word)
    return word


class Names:
    """Identifiers of one scope, all different.

    A language's own class of names says which words it reserves.
    """

    keywords: ClassVar[frozenset[str]] = frozenset()

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}
        self._next: dict[str, int] = {}

    def unique(self, wanted: str, kind: str | None = None) -> str:
        """An identifier like the wanted name that nobody has yet.

        Parameters
        ----------
        kind : "kernel", "constant" or "computation" for what all functions of the file see: such
            a name ends in the word, and no name inside a function does.
        """
        word = identifier(wanted)
        if word.startswith("hlo_"):
            # So begin the functions of libraries.
            word = f"v_{word}"
        if kind is not None:
            word = f"{word}_{kind}"
        elif _numbered(word)[0].endswith(_GLOBAL):
            word = f"{word}_v"
        if not self._refused(word):
            self._taken[word] = wanted
            return word
        stem = _stem(word)
        number = self._next.get(stem, 1)
        while self._refused(f"{stem}_{number}"):
            number += 1
        self._next[stem] = number + 1
        self._taken[f"{stem}_{number}"] = wanted
        return f"{stem}_{number}"

    @property
    def given(self) -> frozenset[str]:
        """All identifiers of this scope."""
        return frozenset(self._taken)

    @property
    def hlo_names(self) -> Mapping[str, str]:
        """The name that was wanted for each identifier: in most cases that of an instruction."""
        return self._taken

    def _refused(self, word: str) -> bool:
        return word in self._taken or word in self.keywords or word in self.reserved()

    def reserved(self) -> frozenset[str]:
        """The names of the functions and types that the language's prelude may define."""
        return frozenset(ELEMENT_TYPES)
