"""The table of C: the entries that all emitters share, and C's own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.elements.table import Element, Entry
from codegen.opcodes import elements
from hlo.opcode import HOST, having
from hlo.table import OpTable

if TYPE_CHECKING:
    from collections.abc import Callable

    Whole = Callable[..., int | None]

HOST_QUEUES = "it talks to the host's queues, which a compiled module does not have"

emits_c: OpTable[Entry] = OpTable(
    "emits_c",
    dict.fromkeys(sorted(HOST - having("async")), HOST_QUEUES),
    base=elements,
    package="emit_c",
)


def define_whole(opcode: str, write: Whole) -> None:
    """Give an opcode whose elements can be computed one by one a faster way to write them all."""
    entry = elements[opcode]
    assert isinstance(entry, Element)
    emits_c.define(opcode, replace(entry, whole=write))
