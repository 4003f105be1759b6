"""The sections of a file of bytecode: strings, names, and where everything else lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from hlo.read.other_formats import BYTECODE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.frontends.stablehlo.bytecode.cursor import Cursor

_Thing = TypeVar("_Thing")

# The numbers of sections.
STRINGS, DIALECTS, ENTRIES, OFFSETS, OPERATIONS, VERSIONS, PROPERTIES = 0, 1, 2, 3, 4, 7, 8
_KINDS = 9
_REQUIRED = (STRINGS, DIALECTS, ENTRIES, OFFSETS, OPERATIONS)

# The versions of the format that began to ...
HAS_DIALECT_VERSIONS = 1
HAS_SECTIONS_OF_FUNCTIONS = 2
HAS_ORDERS_OF_USES = 3
HAS_OPTIONAL_LOCATIONS = 4
HAS_PROPERTIES = 5
_NEWEST = 6


class Entry(NamedTuple):
    """Where an attribute or a type lies; `is_text` if it is written as in a text of MLIR."""

    dialect: str
    is_text: bool
    at: Cursor


class Container:
    """The sections of a file that all its parts share.

    Attributes
    ----------
    version : of the format.
    names : of operations, with their dialects, and whether they have properties of their own.
    attributes, types : where they lie.
    operations : where these begin.
    """

    def __init__(self, file: Cursor) -> None:
        if file.take(len(BYTECODE)) != BYTECODE:
            raise file.broken("it does not begin as bytecode does")
        self.version = file.number()
        if self.version > _NEWEST:
            raise file.broken(f"it is of version {self.version}, which is not known")
        file.text()  # who wrote it
        sections: dict[int, Cursor] = {}
        while not file.is_at_end:
            kind, content = file.section()
            if kind >= _KINDS or kind in sections:
                raise file.broken(f"a section of kind {kind} is not expected here")
            sections[kind] = content
        if missing := [kind for kind in _REQUIRED if kind not in sections]:
            raise file.broken(f"it has no section of kind {missing[0]}")
        self._strings = _strings(sections[STRINGS])
        self._dialects, self.names = self._names(sections[DIALECTS])
        self.attributes, self.types = self._entries(sections[ENTRIES], sections[OFFSETS])
        self._properties = _chunks(sections[PROPERTIES]) if PROPERTIES in sections else []
        self.operations = sections[OPERATIONS]

    def string(self, at: Cursor) -> str:
        """The string whose number comes next."""
        return found(self._strings, at.number(), at)

    def properties(self, at: Cursor) -> Cursor:
        """Where the properties of an operation lie, whose number comes next."""
        return found(self._properties, at.number(), at).again()

    def _names(self, section: Cursor) -> tuple[list[str], list[tuple[str, bool]]]:
        dialects: list[str] = []
        for _ in range(section.count()):
            if self.version < HAS_DIALECT_VERSIONS:
                dialects.append(self.string(section))
                continue
            number, has_version = section.flagged()
            dialects.append(found(self._strings, number, section))
            if has_version:
                section.section()
        if self.version >= HAS_OPTIONAL_LOCATIONS:
            section.number()  # of operations, all dialects together

        def name(dialect: str) -> tuple[str, bool]:
            if self.version < HAS_PROPERTIES:
                return f"{dialect}.{self.string(section)}", False
            number, is_registered = section.flagged()
            return f"{dialect}.{found(self._strings, number, section)}", is_registered

        names: list[tuple[str, bool]] = []
        while not section.is_at_end:
            names += _group(section, dialects, name)
        return dialects, names

    def _entries(self, section: Cursor, sizes: Cursor) -> tuple[list[Entry], list[Entry]]:
        def entry(dialect: str) -> Entry:
            size, is_custom = sizes.flagged()
            return Entry(dialect, not is_custom, section.part(size))

        counts = [sizes.count(), sizes.count()]
        lists: tuple[list[Entry], list[Entry]] = ([], [])
        for count, entries in zip(counts, lists, strict=True):
            while len(entries) < count:
                entries.extend(_group(sizes, self._dialects, entry))
        return lists


def found(things: Sequence[_Thing], number: int, at: Cursor) -> _Thing:
    """A thing by its number."""
    if number >= len(things):
        raise at.broken(f"there is no thing {number} among {len(things)}")
    return things[number]


def _group(at: Cursor, dialects: Sequence[str], read: Callable[[str], _Thing]) -> list[_Thing]:
    dialect = found(dialects, at.number(), at)
    return [read(dialect) for _ in range(at.count())]


def _strings(section: Cursor) -> list[str]:
    """The strings; their sizes come first, from the last string's on."""
    sizes = [section.number() for _ in range(section.count())]
    texts = [section.take(size) for size in reversed(sizes)]
    return [text.removesuffix(b"\0").decode("utf-8", "surrogateescape") for text in texts]


def _chunks(section: Cursor) -> list[Cursor]:
    return [section.part(section.number()) for _ in range(section.count())]
