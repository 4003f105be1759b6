"""The parts of a module's C, put together as one file, or as several that are compiled at once.

One file is what people read. Compilers are given a large module in several files, because one
process takes a hundredth of a second for each kernel. Then kernels are spread over the files; each
has the functions of the prelude and the constants that it needs, and the last file has the
functions that call the kernels. What does not depend on the module is declared in them only.
Files are cut off while kernels are still being written, so that compilers can begin.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from emit_c.code.prelude import prelude
from emit_c.contraction.library import called, declarations, definitions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

# Characters of kernels that are worth a compiler of their own: some seven kernels.
LEAST_TEXT = 8_000
# Compilers take as long for a character of a kernel as for so many of what calls kernels.
CALLS = 3
# What is cut off while more is to come may be small; each file is twice as large as the one before.
FIRST_CUT = 14_000
# What the files share is no business of other libraries.
_HIDDEN = "#pragma GCC visibility push(hidden)\n"
_VISIBLE = "#pragma GCC visibility pop\n"
# The prelude's variables, of which there must be one: what uses them is not moved.
_VARIABLES = {"seed_random_state", "advance_random_state"}
_WORD = re.compile(r"[A-Za-z_]\w*")
_REMARK = re.compile(r"//.*")
_LOADED = re.compile(r"^static (const \w+ \*\w+;)")


@dataclass(frozen=True, slots=True)
class Parts:
    """The C of a module.

    Attributes
    ----------
    about : the comment at its head.
    constants, kernels : definitions by name; what others need comes before them.
    entries : the names of those kernels that functions call.
    foreign : pointers to functions of other libraries.
    functions : what calls the kernels, the entry among them.
    """

    about: str
    constants: Mapping[str, str]
    foreign: str
    kernels: Mapping[str, str]
    entries: Collection[str]
    functions: str

    def whole(self) -> str:
        """All of it as one file."""
        return self._one_file(definitions("".join(self.kernels.values())), whole=True)

    def declaring(self) -> str:
        """The same, without the functions that are compiled apart, which it only declares."""
        return self._one_file(declarations("".join(self.kernels.values())), whole=False)

    @property
    def tiles(self) -> tuple[str, ...]:
        """The names of the register tiles, and of other functions apart, that kernels call."""
        return called("".join(self.kernels.values()))

    def _one_file(self, library: str, *, whole: bool) -> str:
        constants = "".join(f"{definition}\n" for definition in self.constants.values())
        kernels = "\n".join(self.kernels.values())
        code = f"{constants}{self.foreign}{library}{kernels}\n{self.functions}"
        return f"{self.about}\n{prelude(code, whole=whole)}\n{code}"


class Units:
    """The files that compilers are given, cut off while kernels are still being written.

    Parameters
    ----------
    most : how many compilers can work at once; with one there is one file.
    hand_out : takes each file as soon as it is whole, but for the last ones.
    """

    def __init__(self, most: int, hand_out: Callable[[str], None] | None = None) -> None:
        self._most, self._hand_out = most, hand_out
        self._words: dict[str, set[str]] = {}  # by kernel
        self._files: list[str] = []
        self._moved: list[str] = []  # kernels that are in these files
        self._waiting: dict[str, int] = {}  # kernels that can be, by the size of their text
        self._enough = FIRST_CUT

    def look(
        self,
        kernels: Mapping[str, str],
        entries: Collection[str],
        constants: Mapping[str, str],
        foreign: Collection[str],
    ) -> None:
        """See what has been written since the last time.

        Parameters
        ----------
        foreign : names that stand for functions of other libraries.
        """
        if self._most < 2 or len(kernels) == len(self._words):
            return
        unmovable = _VARIABLES.union(foreign)
        for name in list(kernels)[len(self._words) :]:
            self._words[name] = _words(kernels[name])
            if name in entries and not _reached(self._words, [name]) & unmovable:
                # With what it calls, as a fold its turns.
                size = sum(len(kernels[n]) for n in _called(self._words, [name]))
                self._waiting[name] = size
            if sum(self._waiting.values()) >= self._enough:
                self._cut(kernels, constants, self._waiting)
                self._waiting, self._enough = {}, 2 * self._enough

    def files(self, parts: Parts) -> tuple[str, ...]:
        """All files of a module that is written; the last one has what calls the kernels."""
        self.look(parts.kernels, parts.entries, parts.constants, _pointers(parts.foreign))
        # Where compilers are at work already, a small file is better than one that ends last.
        least = LEAST_TEXT // 2 if self._files else LEAST_TEXT
        calls = len(parts.functions) // CALLS
        count = min(self._most, (calls + sum(self._waiting.values())) // least)
        _, *groups = _spread(self._waiting, [calls, *[0] * (count - 1)])
        for group in filter(None, groups):
            self._cut(parts.kernels, parts.constants, group)
        self._waiting = {}
        if self._files:
            return (*self._files, _rest(parts, self._moved, self._words))
        return (parts.declaring(),)

    def _cut(
        self, kernels: Mapping[str, str], constants: Mapping[str, str], group: Collection[str]
    ) -> None:
        self._files.append(_file(kernels, constants, group, self._words))
        self._moved += group
        if self._hand_out:
            self._hand_out(self._files[-1])


def _file(
    kernels: Mapping[str, str],
    constants: Mapping[str, str],
    exported: Collection[str],
    words: Mapping[str, set[str]],
) -> str:
    """A file of some kernels, which other files may call."""
    needed, used = _called(words, exported), _reached(words, exported)
    shared = (_LOADED.sub(r"extern \1", text) for n, text in constants.items() if n in used)
    chosen = [
        _exported(n, text) if n in exported else text for n, text in kernels.items() if n in needed
    ]
    library = declarations("".join(chosen))
    code = "".join(f"{text}\n" for text in (*shared, *chosen))
    return f"{prelude(code, whole=False)}\n{library}{_HIDDEN}{code}"


def _rest(parts: Parts, moved: Collection[str], words: Mapping[str, set[str]]) -> str:
    """The file of everything but the kernels that were moved."""
    there, wanted = set(moved), _words(parts.functions)
    needed = _called(words, [n for n in words if n in wanted and n not in there])
    used = wanted.union(*(words[n] for n in needed))
    constants = (_LOADED.sub(r"\1", text) for n, text in parts.constants.items() if n in used)
    declared = (_declaration(n, parts.kernels[n]) for n in moved if n in wanted)
    kernels = [text for n, text in parts.kernels.items() if n in needed]
    library = declarations("".join(kernels))
    shared = "".join(f"{text}\n" for text in (*constants, *declared))
    own = "".join(f"{text}\n" for text in (parts.foreign, library, *kernels, parts.functions))
    return f"{prelude(shared + own, whole=False)}\n{_HIDDEN}{shared}{_VISIBLE}{own}"


def _spread(sizes: Mapping[str, int], filled: list[int]) -> list[list[str]]:
    """Groups of names that fill up to about the same size what is filled to some sizes."""
    groups: list[list[str]] = [[] for _ in filled]
    for name in sorted(sizes, key=lambda n: -sizes[n]):
        least = filled.index(min(filled))
        groups[least].append(name)
        filled[least] += sizes[name]
    return groups


def _words(text: str) -> set[str]:
    return set(_WORD.findall(_REMARK.sub("", text)))


def _pointers(foreign: str) -> list[str]:
    """The names in `Parts.foreign` of other libraries' functions."""
    return re.findall(r"\(\*(\w+)\)", foreign)


def _reached(words: Mapping[str, set[str]], names: Iterable[str]) -> set[str]:
    """All words of some kernels and of those that they call."""
    return {word for name in _called(words, names) for word in words[name]}


def _called(words: Mapping[str, set[str]], names: Iterable[str]) -> set[str]:
    """Some kernels and those that they call."""
    stack, seen = list(names), set[str]()
    while stack:
        name = stack.pop()
        if name not in seen:
            seen.add(name)
            stack += words.keys() & words[name]
    return seen


def _exported(name: str, text: str) -> str:
    """A kernel's definition, for other files to see."""
    begin, _ = _head(name, text)
    return text[:begin] + text[begin:].removeprefix("static ")


def _declaration(name: str, text: str) -> str:
    """What other files must know of a kernel."""
    begin, end = _head(name, text)
    return f"{text[begin:end].removeprefix('static ')};"


def _head(name: str, text: str) -> tuple[int, int]:
    """Where the head of a kernel's definition is."""
    # Not in a comment, which may say anything: at the beginning of a line.
    begin = max(f"\n{text}".find(f"\nstatic {kind} {name}(") for kind in ("void", "int"))
    return begin, text.index(" {\n", begin)
