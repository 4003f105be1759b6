"""Declarations of attributes: everything that parser, printer and `hlo ops` know of it."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import Any, Literal, Protocol, Self, cast

# What an attribute comes after in the text: the operands, the computations that the instruction
# calls, or its statistics.
Place = Literal["operands", "called", "statistics"]


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
    behind : the part of the text that it is printed behind.
    words : of the kind "word": the words that there are; () for any.
    """

    key: str
    field: str
    kind: str
    required: bool
    always: bool
    default: Any
    behind: Place
    words: tuple[str, ...]


def required(kind: str, words: tuple[str, ...] = ()) -> Any:
    """An attribute without which the instruction means nothing."""
    return field(metadata={"kind": kind, "always": True, "words": words})


def optional(
    kind: str,
    default: Any,
    *,
    always: bool = False,
    behind: Place = "operands",
    words: tuple[str, ...] = (),
) -> Any:
    """An attribute with a default; printed where it differs from it, or always."""
    marks = {"kind": kind, "always": always, "behind": behind, "words": words}
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
            behind=f.metadata.get("behind", "operands"),
            words=f.metadata["words"],
        )
    return specs
