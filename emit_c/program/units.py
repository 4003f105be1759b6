"""The parts of a module's C, put together as one file, or as several that are compiled at once.

One file is what people read. Compilers are given a large module in several files, because one
process takes a hundredth of a second for each kernel. Then kernels are spread over the files; each
has the functions of the prelude and the constants that it needs, and the last file has the
functions that call the kernels. What does not depend on the module is declared in them only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from emit_c.code.prelude import prelude
from emit_c.contraction.library import called, declarations, definitions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Characters of kernels that are worth a compiler of their own: some five kernels.
LEAST_TEXT = 6_000
# What the files share is no business of other libraries.
_HIDDEN = "#pragma GCC visibility push(hidden)\n"
_VISIBLE = "#pragma GCC visibility pop\n"
# The prelude's variables, of which there must be one: what uses them is not moved.
_VARIABLES = {"seed_random_state", "advance_random_state"}
_WORD = re.compile(r"[A-Za-z_]\w*")
_LOADED = re.compile(r"^static (const \w+ \*\w+;)")


@dataclass(frozen=True, slots=True)
class Parts:
    """The C of a module.

    Attributes
    ----------
    about : the comment at its head.
    constants, kernels : definitions by name; what others need comes before them.
    foreign : pointers to functions of other libraries.
    functions : what calls the kernels, the entry among them.
    """

    about: str
    constants: Mapping[str, str]
    foreign: str
    kernels: Mapping[str, str]
    functions: str

    def whole(self) -> str:
        """All of it as one file."""
        return self._one_file(definitions("".join(self.kernels.values())))

    @property
    def tiles(self) -> tuple[str, ...]:
        """The names of the register tiles that kernels call."""
        return called("".join(self.kernels.values()))

    def _one_file(self, library: str) -> str:
        """The same, with definitions or declarations of what does not depend on the module."""
        constants = "".join(f"{definition}\n" for definition in self.constants.values())
        kernels = "\n".join(self.kernels.values())
        code = f"{constants}{self.foreign}{library}{kernels}\n{self.functions}"
        return f"{self.about}\n{prelude(code)}\n{code}"

    def units(self, most: int) -> tuple[str, ...]:
        """It as at most so many files, without tiles; as one where there is little of it."""
        words = {name: _words(text) for name, text in self.kernels.items()}
        called = _words(self.functions)
        unmovable = _VARIABLES | set(re.findall(r"\(\*(\w+)\)", self.foreign))
        moved = [n for n in words if n in called and not _reached(words, [n]) & unmovable]
        # With what it calls, as a contraction its tiles.
        sizes = {n: sum(len(self.kernels[k]) for k in _called(words, [n])) for n in moved}
        count = min(most, sum(sizes.values()) // LEAST_TEXT)
        if count < 2:
            return (self._one_file(declarations("".join(self.kernels.values()))),)
        groups = _spread(sizes, count)
        return (*(self._kernels(group, words) for group in groups), self._rest(moved, words))

    def _kernels(self, exported: set[str], words: Mapping[str, set[str]]) -> str:
        """A file of some kernels, which other files may call."""
        used = _reached(words, exported)
        constants = (
            _LOADED.sub(r"extern \1", text) for n, text in self.constants.items() if n in used
        )
        kernels = [
            _exported(n, text) if n in exported else text
            for n, text in self.kernels.items()
            if n in used or n in exported
        ]
        library = declarations("".join(kernels))
        code = "".join(f"{text}\n" for text in (*constants, *kernels))
        return f"{prelude(code)}\n{library}{_HIDDEN}{code}"

    def _rest(self, moved: Iterable[str], words: Mapping[str, set[str]]) -> str:
        """The file of everything else."""
        called = _words(self.functions)
        used = called | _reached(words, [n for n in called if n in words and n not in set(moved)])
        constants = (_LOADED.sub(r"\1", text) for n, text in self.constants.items() if n in used)
        declared = (_declaration(n, self.kernels[n]) for n in moved)
        kernels = [t for n, t in self.kernels.items() if n in used and n not in set(moved)]
        library = declarations("".join(kernels))
        shared = "".join(f"{text}\n" for text in (*constants, *declared))
        own = "".join(f"{text}\n" for text in (self.foreign, library, *kernels, self.functions))
        return f"{prelude(shared + own)}\n{_HIDDEN}{shared}{_VISIBLE}{own}"


def _spread(sizes: Mapping[str, int], count: int) -> list[set[str]]:
    """Groups of names of about the same size."""
    groups: list[set[str]] = [set() for _ in range(count)]
    filled = [0] * count
    for name in sorted(sizes, key=lambda n: -sizes[n]):
        least = filled.index(min(filled))
        groups[least].add(name)
        filled[least] += sizes[name]
    return groups


def _words(text: str) -> set[str]:
    return set(_WORD.findall(re.sub(r"//.*", "", text)))


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
            stack += [w for w in words[name] if w in words]
    return seen


def _exported(name: str, text: str) -> str:
    """A kernel's definition, for other files to see."""
    return re.sub(rf"^static (?=(void|int) {name}\()", "", text, flags=re.MULTILINE)


def _declaration(name: str, text: str) -> str:
    """What other files must know of a kernel."""
    head = re.search(rf"^static ((?:void|int) {name}\([^{{]*?\)) \{{$", text, re.MULTILINE)
    assert head, name
    return f"{head[1]};"
