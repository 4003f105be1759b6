"""The functions that kernels may call, as paragraphs of text in the language that C and CUDA share.

They are written in the `.c` files beside this one: a comment, then a function. A function whose
name ends in `_$T` is a template; it is filled in for the element type that its caller names.
`//: add +, subtract -` above a function gives one for each row, whose texts replace `$1` and `$2`.
An emitter may have more of them in a folder of its own.
"""

from __future__ import annotations

from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from codegen.kinds import is_narrow, wide
from codegen.prelude.conversions import OTHERS, conversions
from codegen.prelude.paragraph import code_of, filled, paragraphs_of, prototype_in, words
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from codegen.prelude.paragraph import Prototype
    from hlo.types.element_type import ElementType

HERE = Path(__file__).parent
# The element types whose conversions are made together, by the names of those functions.
_CONVERTING = {
    f"{verb}_{name}": ELEMENT_TYPES[name] for name in OTHERS for verb in ("load", "store", "narrow")
}


class Prelude:
    """The functions of some folders.

    Parameters
    ----------
    folders : where the files are; what a later one defines replaces what an earlier one does.
    tables_as_bits : the language has no literals of infinity and NaN.
    """

    def __init__(self, *folders: Path, tables_as_bits: bool = False) -> None:
        self.folders, self.tables_as_bits = folders, tables_as_bits
        self._defined: dict[str, tuple[str, str] | None] = {}

    @cached_property
    def paragraphs(self) -> dict[str, str]:
        """Every function, by name."""
        paragraphs: dict[str, str] = {}
        for folder in self.folders:
            paragraphs |= _paragraphs_in(folder)
        return paragraphs

    def definition(self, name: str) -> tuple[str, str] | None:
        """The name of the paragraph that defines a word, and the paragraph; or None."""
        if name not in self._defined:
            self._defined[name] = self._definition(name)
        return self._defined[name]

    def prototype(self, name: str) -> Prototype | None:
        """The types of a function's parameters and of its value; None of one that is not here."""
        definition = self.definition(name)
        return prototype_in(definition[1], name) if definition else None

    def _definition(self, name: str) -> tuple[str, str] | None:
        if name in self.paragraphs:
            return name, self.paragraphs[name]
        if name in _CONVERTING:
            element_type = _CONVERTING[name]
            text = conversions(element_type, as_bits=self.tables_as_bits)
            return f"conversions_{element_type}", text
        if name in self._templates:
            return name, _filled(*self._templates[name])
        return None

    @cached_property
    def _templates(self) -> dict[str, tuple[str, ElementType]]:
        """By the names of functions that templates give: the template, and the element type."""
        return {
            name.replace("$T", element_type.name): (text, element_type)
            for name, text in self.paragraphs.items()
            if "$T" in name
            for element_type in ELEMENT_TYPES.values()
        }

    @cached_property
    def reserved(self) -> frozenset[str]:
        """Names that emitted identifiers must not take."""
        stems = (name.removesuffix("_$T") for name in self.paragraphs)
        return frozenset((*stems, *self._templates, *_CONVERTING, *ELEMENT_TYPES))

    @cached_property
    def library(self) -> frozenset[str]:
        """The functions whose names begin with `hlo_`, as those of libraries do."""
        names = (*self.paragraphs, *self._templates)
        return frozenset(name for name in names if name.startswith("hlo_"))


SHARED = Prelude(HERE)
"""The functions that all emitters share."""


@cache
def _paragraphs_in(folder: Path) -> Mapping[str, str]:
    """The functions that the files of a folder define, by name."""
    paragraphs: dict[str, str] = {}
    for path in sorted(folder.glob("*.c*")):
        paragraphs |= paragraphs_of(path.read_text())
    return paragraphs


def definitions_of(
    names: Iterable[str],
    definition: Callable[[str], tuple[str, str] | None],
    begun: Iterable[str] = (),
) -> dict[str, str]:
    """The definitions of some names by paragraph, each after those that it needs itself.

    Parameters
    ----------
    definition : the name of the paragraph that defines a word, and the paragraph; None for others.
    begun : paragraphs that are left out.
    """
    return dict(_definitions(names, definition, set(begun)))


def _definitions(
    names: Iterable[str], definition: Callable[[str], tuple[str, str] | None], begun: set[str]
) -> Iterator[tuple[str, str]]:
    """Recurse, as definitions nest a few levels deep; one calls itself."""
    for name in names:
        definition_found = definition(name)
        if definition_found and definition_found[0] not in begun:
            begun.add(definition_found[0])
            yield from _definitions(words(code_of(definition_found[1])), definition, begun)
            yield definition_found


def typedefs_of_others(used: set[str]) -> str:
    """The types among some words whose elements are stored as their bytes."""
    return "".join(
        f"typedef u{'16' if ELEMENT_TYPES[n].bits == 16 else '8'} {n};\n"
        for n in OTHERS
        if n in used
    )


def _filled(template: str, element_type: ElementType) -> str:
    computed, bits = ELEMENT_TYPES[wide(element_type)], element_type.bits
    values = {
        "$T": element_type.name,
        "$C": computed.name,
        "$U": computed.unsigned.name,
        "$S": computed.signed.name,
        "$V": element_type.unsigned.name,
        "$L": f"load_{element_type}" if is_narrow(element_type) else "",
        "$R": element_type.real.name,
        "$W": str(bits),
        "$M": f"0x{(1 << bits) - 1:x}" + ("ull" if bits == 64 else ""),
        "$f": "f" if element_type.name in ("c64", "f32") else "",
    }
    return filled(template, values)
