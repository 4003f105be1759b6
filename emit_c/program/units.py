"""The parts of a module's C, put together as one file, or as several that are compiled at once.

One file is what people read. Compilers are given a large module in several files, because one
process takes a hundredth of a second for each kernel. Then kernels are spread over the files; each
has the functions of the prelude and the constants that it needs. The last file has the functions
that call the kernels, and kernels that compilers inline there. What does not depend on the module
is declared in them only, and has files of its own. So each line that is compiled is one of the one
file, but for declarations and linkage. Files are cut off while kernels are still being written, so
that compilers can begin.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from codegen.file_text import FileText, Section
from codegen.prelude.paragraph import words
from emit_c.code.prelude import prelude_sections
from emit_c.contraction.library import called, declarations, definitions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from codegen.callees import Named
    from emit_c.code.constants import ConstantArray
    from emit_c.code.definition import Definition
    from emit_c.contraction.library import LibraryFunction
    from emit_c.program.callers import Callers

LEAST_TEXT = 8_000
"""Chosen: characters of kernels, some seven of them, that are worth a compiler of their own."""
CALLERS_TEXT = 3
"""Measured: compilers take as long for a character of a kernel as for so many of its callers."""
FIRST_CUT = 8_000
"""Chosen: characters of the first file that is cut off while more are to come; each is twice as
large as the one before."""

# Functions shared by the files are hidden from other libraries.
_HIDDEN = "#pragma GCC visibility push(hidden)\n"
_VISIBLE = "#pragma GCC visibility pop\n"
# The prelude's variables, of which there must be one: kernels that use them are not moved.
_VARIABLES = {"seed_random_state", "advance_random_state"}


@dataclass(frozen=True, slots=True)
class Parts:
    """The C of a module.

    Attributes
    ----------
    about : writes the comment at its head.
    constants, kernels : by name; what others need comes before them.
    foreign : pointers to functions of other libraries.
    foreign_names : the names of these functions in the C.
    entries : the names of those kernels that functions call.
    calls : what calls the kernels.
    """

    about: Callable[[], str]
    constants: Mapping[str, ConstantArray]
    foreign: str
    foreign_names: Collection[str]
    kernels: Mapping[str, Definition]
    entries: Collection[str]
    calls: Callers

    def whole(self) -> FileText:
        """All parts as one file."""
        return self._one_file(definitions(_mentions(self.kernels.values())), whole=True)

    def declaring(self) -> FileText:
        """All parts as one file, which only declares the functions that are compiled apart."""
        declared = Section(declarations(_mentions(self.kernels.values())))
        return self._one_file([declared], whole=False)

    @property
    def tiles(self) -> tuple[LibraryFunction, ...]:
        """The register tiles, and other functions apart, that kernels call."""
        return called(_mentions(self.kernels.values()))

    def _one_file(self, library: Sequence[Section], *, whole: bool) -> FileText:
        # Compilers warn of arrays that nothing reads.
        read = {*self.calls.mentions, *_mentions(self.kernels.values())}
        chosen = [constant for name, constant in self.constants.items() if name in read]
        constants = "".join(f"{constant.defined()}\n" for constant in chosen)
        used = _used(chosen, FileText(library), [*self.kernels.values(), self.calls])
        kernels = [kernel.section() for kernel in self.kernels.values()] or [Section("\n")]
        return FileText(
            (
                Section(f"{self.about()}\n"),
                *prelude_sections(used, whole=whole),
                Section(f"\n{constants}"),
                Section(self.foreign, "load_functions"),
                *library,
                *kernels,
                *self.calls.text.sections,
            )
        )


def _mentions(definitions: Iterable[Definition | Callers]) -> dict[str, Named | None]:
    """The names that some definitions mention, in order."""
    return dict(chain.from_iterable(definition.mentions.items() for definition in definitions))


def _used(
    constants: Iterable[ConstantArray],
    library: str,
    definitions: Iterable[Definition | Callers],
) -> Iterable[str]:
    """The names in the parts of a file, as they come; functions apart are known by their text."""
    types = (kind for constant in constants for kind in (constant.kind, constant.stored))
    return dict.fromkeys([*types, *words(library), *_mentions(definitions)])


def are_many(kernels: Mapping[str, Definition]) -> bool:
    """Whether there are kernels enough for a compiler of their own."""
    return sum(len(kernel.text) for kernel in kernels.values()) >= LEAST_TEXT


class Units:
    """The files that compilers are given, cut off while kernels are still being written.

    Parameters
    ----------
    most : how many compilers can work at once; with one there is one file.
    hand_out : takes each file as soon as it is whole, but for the last ones.
    hand_out_tiles : takes the tiles that kernels call, as these are written.
    """

    def __init__(
        self,
        most: int,
        hand_out: Callable[[str], None] | None = None,
        hand_out_tiles: Callable[[Iterable[LibraryFunction]], None] | None = None,
    ) -> None:
        self._most, self._hand_out, self._hand_out_tiles = most, hand_out, hand_out_tiles
        self._words: dict[str, AbstractSet[str]] = {}  # that kernels mention
        self._files: list[FileText] = []
        self._moved: list[str] = []  # kernels that are in these files
        self._waiting: dict[str, int] = {}  # kernels that can be, by the size of their text
        self._enough = FIRST_CUT

    def look(
        self,
        kernels: Mapping[str, Definition],
        entries: Collection[str],
        constants: Mapping[str, ConstantArray],
        foreign: Collection[str],
    ) -> None:
        """Take up the kernels written since the last time, and cut off a file if they suffice.

        Parameters
        ----------
        foreign : names that stand for functions of other libraries.
        """
        if self._most < 2 or len(kernels) == len(self._words):
            return
        unmovable = _VARIABLES.union(foreign)
        for name in list(kernels)[len(self._words) :]:
            self._words[name] = kernels[name].mentions.keys()
            if self._hand_out_tiles:
                self._hand_out_tiles(called(kernels[name].mentions))
            is_movable = name in entries and not kernels[name].is_inlined
            if is_movable and not _reached(self._words, [name]) & unmovable:
                # With the functions that it calls, as a reduction its iterations.
                size = sum(len(kernels[n].text) for n in _called(self._words, [name]))
                self._waiting[name] = size
            if sum(self._waiting.values()) >= self._enough:
                self._cut(kernels, constants, self._waiting)
                self._waiting, self._enough = {}, 2 * self._enough

    def files(self, parts: Parts) -> tuple[FileText, ...]:
        """All files of a written module; the last one has the functions that call kernels."""
        self.look(parts.kernels, parts.entries, parts.constants, parts.foreign_names)
        # Where compilers are at work already, a small file is better than one that ends last.
        least = LEAST_TEXT // 2 if self._files else LEAST_TEXT
        # A profile's files are those of the program, but for its clocks.
        calls = (len(parts.calls.text) - len(parts.calls.clocks)) // CALLERS_TEXT
        count = min(self._most, (calls + sum(self._waiting.values())) // least)
        _, *groups = _spread(self._waiting, [calls, *[0] * (count - 1)])
        for group in filter(None, groups):
            self._cut(parts.kernels, parts.constants, group)
        self._waiting = {}
        if self._files:
            return (*self._files, _rest(parts, self._moved, self._words))
        return (parts.declaring(),)

    def _cut(
        self,
        kernels: Mapping[str, Definition],
        constants: Mapping[str, ConstantArray],
        group: Collection[str],
    ) -> None:
        self._files.append(_file(kernels, constants, group, self._words))
        self._moved += group
        if self._hand_out:
            self._hand_out(self._files[-1])


def _file(
    kernels: Mapping[str, Definition],
    constants: Mapping[str, ConstantArray],
    exported: Collection[str],
    words_of: Mapping[str, AbstractSet[str]],
) -> FileText:
    """A file of some kernels, which other files may call."""
    needed, used = _called(words_of, exported), _reached(words_of, exported)
    read = [row for name, row in constants.items() if name in used]
    chosen = {name: part for name, part in kernels.items() if name in needed}
    library = declarations(_mentions(chosen.values()))
    constant_text = "".join(f"{constant.defined('extern ')}\n" for constant in read)
    before = prelude_sections(_used(read, library, chosen.values()), whole=False)
    code = (p.section(p.exported if name in exported else "") for name, p in chosen.items())
    return FileText((*before, Section(f"\n{library}{_HIDDEN}{constant_text}"), *code))


def _rest(
    parts: Parts, moved: Collection[str], words_of: Mapping[str, AbstractSet[str]]
) -> FileText:
    """The file of everything but the kernels that were moved."""
    calls = parts.calls
    there, wanted = set(moved), calls.mentions.keys()
    needed = _called(words_of, [n for n in words_of if n in wanted and n not in there])
    reached = set(wanted).union(*(words_of[n] for n in needed))
    read = [constant for name, constant in parts.constants.items() if name in reached]
    elsewhere = [parts.kernels[n] for n in moved if n in wanted]
    kernels = [kernel for name, kernel in parts.kernels.items() if name in needed]
    library = declarations(_mentions(kernels))
    declared = (definition.declaration for definition in elsewhere)
    shared = "".join(f"{text}\n" for text in (*(c.defined("") for c in read), *declared))
    types = chain.from_iterable(definition.types for definition in elsewhere)
    used = dict.fromkeys([*types, *_used(read, library, [*kernels, calls])])
    return FileText(
        (
            *prelude_sections(used, whole=False),
            Section(f"\n{_HIDDEN}{shared}{_VISIBLE}"),
            Section(f"{parts.foreign}\n", "load_functions"),
            Section(f"{library}\n"),
            *(kernel.section() for kernel in kernels),
            *calls.text.sections,
            Section("\n"),
        )
    )


def _spread(sizes: Mapping[str, int], filled: list[int]) -> list[list[str]]:
    """Groups of names that, added to bins of some sizes, fill them to about the same size."""
    groups: list[list[str]] = [[] for _ in filled]
    for name in sorted(sizes, key=lambda n: -sizes[n]):
        least = filled.index(min(filled))
        groups[least].append(name)
        filled[least] += sizes[name]
    return groups


def _reached(words: Mapping[str, AbstractSet[str]], names: Iterable[str]) -> set[str]:
    """All words of some kernels and of those that they call."""
    return {word for name in _called(words, names) for word in words[name]}


def _called(words: Mapping[str, AbstractSet[str]], names: Iterable[str]) -> set[str]:
    """Some kernels and those that they call."""
    stack, seen = list(names), set[str]()
    while stack:
        name = stack.pop()
        if name not in seen:
            seen.add(name)
            stack += words.keys() & words[name]
    return seen
