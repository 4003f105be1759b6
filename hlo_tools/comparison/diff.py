"""The differences between two modules, found by name.

Passes keep the names of what they leave alone and rebuild, so an instruction of one module belongs
to the one of the same name in the other, and no search for the best match is needed. Two
instructions of one name are the same if their text is. The order of instructions does not count.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from hlo.read.header_text import HEADER_ATTRIBUTES
from hlo.write.print import Options, print_instruction
from hlo.write.value_print import print_value

if TYPE_CHECKING:
    from hlo.instruction import Computation, Module


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one line: `before` is None for an added one, `after` for a removed one."""

    before: str | None
    after: str | None

    @property
    def kind(self) -> str:
        """`added`, `removed` or `changed`."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


@dataclass(frozen=True, slots=True)
class DiffSection:
    """The changes of one computation, or of the module's header.

    Attributes
    ----------
    title : the computation's name with "%", or the module's name.
    kind : `changed`, or `added` or `removed` as a whole.
    """

    title: str
    kind: str
    changes: tuple[Change, ...]


def diff(before: Module, after: Module, options: Options | None = None) -> list[DiffSection]:
    """Compare two modules.

    Parameters
    ----------
    options : how instructions are printed; what is not printed is not compared. By default
        everything but metadata.

    Returns
    -------
    list of Section
        the header's first, then one a computation that differs, in the order of `before`, the added
        ones last. It is empty if nothing differs.
    """
    options = options or Options().without("print_metadata")
    sections = [DiffSection(f"HloModule {after.name}", "changed", _headers(before, after))]
    old = {computation.name: computation for computation in before.computations}
    new = {computation.name: computation for computation in after.computations}
    for name in old | new:
        olds = lines_of(old.get(name), before, options)
        news = lines_of(new.get(name), after, options)
        kind = "added" if name not in old else "removed" if name not in new else "changed"
        sections.append(DiffSection(f"%{name}", kind, _changes(olds, news)))
    return [section for section in sections if section.changes]


def lines_of(computation: Computation | None, module: Module, options: Options) -> dict[str, str]:
    """The line of each instruction, by name, and the lines of the computation itself."""
    if computation is None:
        return {}
    lines = {
        i.name: ("ROOT " if i is computation.root else "") + print_instruction(i, options)
        for i in computation.instructions
    }
    if computation is module.entry:
        # No instruction's name has a space.
        lines["ENTRY "] = f"ENTRY %{computation.name}"
    return lines


def _headers(before: Module, after: Module) -> tuple[Change, ...]:
    return _changes(_header_lines(before), _header_lines(after))


def _header_lines(module: Module) -> dict[str, str]:
    lines = {"name": f"name={module.name}"}
    for field in fields(module.header):
        value = getattr(module.header, field.name)
        if field.name in HEADER_ATTRIBUTES and value is not None:
            text = print_value(HEADER_ATTRIBUTES[field.name], value)
            lines[field.name] = f"{field.name}={text}"
    return lines | {key: f"{key}={text}" for key, text in module.header.others}


def _changes(before: dict[str, str], after: dict[str, str]) -> tuple[Change, ...]:
    """One change for each key whose line is not the same; removed ones are where they were."""
    return tuple(
        Change(before.get(key), after.get(key))
        for key in before | after
        if before.get(key) != after.get(key)
    )
