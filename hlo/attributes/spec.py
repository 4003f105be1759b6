"""Declarations of attributes: everything that parser, printer and `hlo ops` know of it."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, Protocol, Self, cast


@dataclass(frozen=True, slots=True)
class AttributeSpec:
    """The declaration of one attribute, for parser and printer.

    Attributes
    ----------
    key : its name in the text.
    field : its name in Python.
    kind : the start rule of the grammar that reads its value.
    required : whether the parser refuses an instruction without it.
    always : whether the printer shows it even where it has its default.
    after_called : whether it is printed after the computations that the instruction calls.
    words : of the kind "word": the words that there are; () for any.
    """

    key: str
    field: str
    kind: str
    required: bool
    always: bool
    default: Any
    after_called: bool
    words: tuple[str, ...]


def required(kind: str, words: tuple[str, ...] = ()) -> Any:
    """An attribute without which the instruction means nothing."""
    return field(metadata={"kind": kind, "always": True, "words": words})


def optional(
    kind: str,
    default: Any,
    *,
    always: bool = False,
    after_called: bool = False,
    words: tuple[str, ...] = (),
) -> Any:
    """An attribute with a default; printed where it differs from it, or always."""
    marks = {"kind": kind, "always": always, "after_called": after_called, "words": words}
    return field(default=default, metadata=marks)


class Attributed(Protocol):
    """An object with attributes: an instruction."""

    @property
    def attrs(self) -> Attrs:
        """The attributes of its opcode."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Attrs:
    """No attributes; the base of all groups."""

    @classmethod
    def of(cls, instr: Attributed) -> Self:
        """The attributes of an instruction whose opcode has this group."""
        return cast("Self", instr.attrs)


NO_ATTRS = Attrs()


@cache
def attribute_specs(group: type[Attrs]) -> dict[str, AttributeSpec]:
    """The attributes of a group by key, in printing order."""
    specs: dict[str, AttributeSpec] = {}
    for f in fields(group):
        if "kind" not in f.metadata:
            continue
        default = None if f.default is MISSING else f.default
        specs[f.name] = AttributeSpec(
            f.name,
            f.name,
            f.metadata["kind"],
            required=f.default is MISSING,
            always=f.metadata["always"],
            default=default,
            after_called=f.metadata.get("after_called", False),
            words=f.metadata["words"],
        )
    return specs
