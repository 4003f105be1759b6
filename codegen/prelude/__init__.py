"""The functions that kernels may call, as paragraphs of text in the language that C and CUDA share.

They are written in the `.c` files beside this one: a comment, then a function. A function whose
name ends in `_$T` is a template; it is filled in for the element type that its caller names.
`//: add +, subtract -` above a function gives one for each row, whose texts replace `$1` and `$2`.
An emitter may have more of them in a folder of its own.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from codegen.elements.types import is_narrow, wide
from codegen.prelude.conversions import OTHERS, conversions
from codegen.prelude.paragraph import code_of, filled, paragraphs_of, words
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hlo.types.element_type import ElementType

HERE = Path(__file__).parent
_ALL_TYPES = sorted(ELEMENT_TYPES, key=len, reverse=True)


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
        found: dict[str, str] = {}
        for path in (p for folder in self.folders for p in sorted(folder.glob("*.c*"))):
            found |= paragraphs_of(path.read_text())
        return found

    def definition(self, name: str) -> tuple[str, str] | None:
        """The name of the paragraph that defines a word, and the paragraph; or None."""
        if name not in self._defined:
            self._defined[name] = self._definition(name)
        return self._defined[name]

    def _definition(self, name: str) -> tuple[str, str] | None:
        if name in self.paragraphs:
            return name, self.paragraphs[name]
        for prefix in ("load_", "store_", "narrow_"):
            if name.startswith(prefix) and name.removeprefix(prefix) in OTHERS:
                type_name = name.removeprefix(prefix)
                made = conversions(ELEMENT_TYPES[type_name], as_bits=self.tables_as_bits)
                return f"conversions_{type_name}", made
        for type_name in _ALL_TYPES:
            template = self.paragraphs.get(name.removesuffix(type_name) + "$T")
            if template and name.endswith("_" + type_name):
                return name, _filled(template, ELEMENT_TYPES[type_name])
        return None

    @cached_property
    def reserved(self) -> frozenset[str]:
        """Names that emitted identifiers must not take."""
        names = {name.removesuffix("_$T") for name in self.paragraphs} | set(ELEMENT_TYPES)
        return frozenset(names)


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
        found = definition(name)
        if found and found[0] not in begun:
            begun.add(found[0])
            yield from _definitions(words(code_of(found[1])), definition, begun)
            yield found


def typedefs_of_others(used: set[str]) -> str:
    """The types among some words whose elements are stored as their bytes."""
    return "".join(
        f"typedef u{'16' if ELEMENT_TYPES[n].bits == 16 else '8'} {n};\n"
        for n in OTHERS
        if n in used
    )


def _filled(template: str, element_type: ElementType) -> str:
    """A template for an element type."""
    kind = wide(element_type)
    bits = element_type.bits
    unsigned = kind.replace("s", "u")
    values = {
        "$T": element_type.name,
        "$C": kind,
        "$U": unsigned,
        "$S": unsigned.replace("u", "s"),
        "$V": element_type.name.replace("s", "u"),
        "$L": f"load_{element_type}" if is_narrow(element_type) else "",
        "$R": element_type.real.name,
        "$W": str(bits),
        "$M": f"0x{(1 << bits) - 1:x}" + ("ull" if bits == 64 else ""),
        "$f": "f" if element_type.name in ("c64", "f32") else "",
    }
    return filled(template, values)
