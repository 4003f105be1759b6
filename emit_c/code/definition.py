"""Functions of a C file as text, with the names that they mention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codegen.file_text import Section
from codegen.functions import mentions
from codegen.kinds import base_of
from codegen.printer import above, code, head
from codegen.statements import nested, straight

if TYPE_CHECKING:
    from collections.abc import Mapping

    from codegen.callees import Named
    from codegen.file_text import HloLine
    from codegen.functions import Function

MOST_INLINED = 32
"""Chosen: statements of a kernel without loops that stays in one file with its callers. If such
kernels are called from another file, the longest increasing subsequence takes 2.1 times as long."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A function of a C file.

    Attributes
    ----------
    name : of the function.
    text : of the function, which no other file sees.
    exported : the text of the same function, for other files to call.
    declaration : what these files must know of it.
    types : those of its parameters.
    mentions : functions, types and variables, in the order in which they are named first; by its
        name, a function that is known as data.
    is_inlined : a call takes longer than the function itself, which compilers inline where they
        see it: it has no loop, and is short.
    about : the HLO of the kernel that it is, or belongs to.
    """

    name: str
    text: str
    exported: str
    declaration: str
    types: tuple[str, ...]
    mentions: Mapping[str, Named | None]
    is_inlined: bool
    about: tuple[HloLine, ...] = ()

    def section(self, text: str = "") -> Section:
        """The part of a file that it is; with another text than its own if one is named."""
        return Section(f"{text or self.text}\n", self.name, self.about)


def defined(function: Function, about: tuple[HloLine, ...] = ()) -> Definition:
    """The definition of a function.

    Parameters
    ----------
    about : as of `Definition`.
    """
    named = mentions(function)
    before, after = above(function), code(function, named)
    types = tuple(base_of(parameter.kind) for parameter in function.parameters)
    return Definition(
        function.name,
        f"{before}static {after}",
        before + after,
        f"{head(function)};",
        types,
        named,
        straight(function.body) and sum(1 for _ in nested(function.body)) <= MOST_INLINED,
        about,
    )
