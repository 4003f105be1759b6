"""A table keyed by opcode: one interpretation of the language.

`infers` says the shape of each opcode's result, `evaluates` its value, `emits_c` its C. A table
refuses an opcode that `hlo.opcode` has not, and a second definition, when it is imported; so a
misspelt name can't hide. Its entries can be replaced for a while, which is how an exercise puts a
student's function in the place of the project's own and runs the project's tests on it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

from hlo.opcode import OPCODES
from hlo.support.lazily import import_files

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

Entry = TypeVar("Entry")
Specific = TypeVar("Specific")


class OpTable(Generic[Entry]):
    """A package's table of opcodes.

    Parameters
    ----------
    name : what errors call the table.
    not_supported : opcodes that are left out on purpose, with the reason.
    base : a table whose definitions hold here too, where this one has none of its own.
    package : whose files define the entries; they are imported when the table is first read.

    Attributes
    ----------
    references : where definitions come from: of values, the section of XLA's operation semantics;
        of shapes, XLA's function.
    entries : what the table itself defines, without its base.
    """

    def __init__(
        self,
        name: str,
        not_supported: Mapping[str, str] | None = None,
        base: OpTable[Entry] | None = None,
        package: str = "",
    ) -> None:
        self.name = name
        self.not_supported = dict(not_supported or {})
        self.base = base
        self._package = package
        self._references: dict[str, str] = {}
        self._defined: dict[str, Entry] = {}

    @property
    def references(self) -> dict[str, str]:
        """Where definitions come from."""
        self._import_files()
        return self._references

    @property
    def entries(self) -> dict[str, Entry]:
        """The table's own definitions."""
        self._import_files()
        return self._defined

    def _import_files(self) -> None:
        """Import the files that define entries, at the first time.

        A second thread imports them too: it waits where the first has not come to an end.
        """
        if self._package:
            import_files(self._package)
            self._package = ""

    def __call__(self, *opcodes: str, xla: str = "") -> Callable[[Specific], Specific]:
        """Define opcodes by the decorated function.

        Parameters
        ----------
        xla : where XLA, or who else is named, says the same; see `references`.
        """

        def define(entry: Specific) -> Specific:
            for opcode in opcodes:
                self.define(opcode, entry)  # type: ignore[arg-type]
                self._references[opcode] = xla
            return entry

        return define

    def define(self, opcode: str, entry: Entry) -> None:
        """Define one opcode."""
        if opcode not in OPCODES:
            raise KeyError(f"{self.name}: there is no opcode {opcode!r}")
        if opcode in self._defined:
            raise KeyError(f"{self.name}: {opcode} is defined twice")
        self._defined[opcode] = entry

    def define_all(self, entries: Mapping[str, Entry]) -> None:
        """Define many opcodes, a line each."""
        for opcode, entry in entries.items():
            self.define(opcode, entry)

    def __getitem__(self, opcode: str) -> Entry:
        """The definition of an opcode."""
        definition = self.get(opcode)
        if definition is None:
            raise KeyError(opcode)
        return definition

    def get(self, opcode: str) -> Entry | None:
        """The definition of an opcode, or None."""
        if self._package:
            self._import_files()
        definition = self._defined.get(opcode)
        return definition if definition is not None or self.base is None else self.base.get(opcode)

    def __contains__(self, opcode: str) -> bool:
        """Whether an opcode is defined."""
        return opcode in self.entries or (self.base is not None and opcode in self.base)

    def gaps(self) -> list[str]:
        """Opcodes that are neither defined nor listed as not supported."""
        return [op for op in OPCODES if op not in self and op not in self.not_supported]

    @contextmanager
    def replaced(self, opcode: str, entry: Entry) -> Generator[None]:
        """Let an opcode mean something else for a while."""
        if opcode not in OPCODES:
            raise KeyError(f"{self.name}: there is no opcode {opcode!r}")
        before = self.entries.get(opcode)
        self.entries[opcode] = entry
        try:
            yield
        finally:
            if before is None:
                del self.entries[opcode]
            else:
                self.entries[opcode] = before
