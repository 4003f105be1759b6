"""The C functions that emitted code may call, and which of them it does call.

They are written in the `.c` files beside this one, in paragraphs: a comment, then a function. A
function whose name ends in `_$T` is a template; it is filled in for the element type that its
caller names. Emitted code begins with exactly the functions that it needs, those that they call
first, and with no header: the compiler takes 20 ms for a kernel and 300 ms for `immintrin.h`.
A function that is defined here under a name that begins with `hlo_` is so long that it is compiled
apart, once for all modules; those that are only declared are the runtime's. Long functions from
numbers to a number have two names: inlined, `exp_f32`; called, `hlo_exp_f32`.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from emit_c.code.types import OTHERS, TYPEDEFS, conversions, is_narrow, wide
from hlo.support.compiler import calls_with_vectors
from hlo.types.element_type import ELEMENT_TYPES, ElementType

_WORD = re.compile(r"[A-Za-z_]\w*")
_APART = "hlo_"
_NUMBERS = re.compile(
    r"^__attribute__\(\(always_inline\)\)\n"
    r"static inline (f32|f64) (\w+)\((\1 \w+(?:, \1 \w+)*)\) \{$",
    re.MULTILINE,
)
_ALL_TYPES = sorted(ELEMENT_TYPES, key=len, reverse=True)


@cache
def _paragraphs() -> dict[str, str]:
    """Every function of the `.c` files, by name."""
    found: dict[str, str] = {}
    for path in sorted(Path(__file__).parent.glob("*.c")):
        for paragraph in re.split(r"\n\n(?=//|static|__attribute__)", path.read_text().strip()):
            name = _name(paragraph)
            if name:
                found[name] = paragraph + "\n"
    return found


def _name(paragraph: str) -> str | None:
    match = re.search(
        r"^(?:static|typedef|extern)\b[^;]*?\b(\w+(?:_\$T)?)\s*[(\[=]|^struct (\w+(?:_\$T)?) \{"
        r"|^#pragma omp declare reduction\((\w+) ",
        paragraph,
        re.MULTILINE,
    )
    return match[1] or match[2] or match[3] if match else None


@cache
def _definition(name: str) -> tuple[str, str] | None:
    """The name of the paragraph that defines a word, and the paragraph."""
    if name in _paragraphs():
        return name, _paragraphs()[name]
    if name.removeprefix(_APART) in functions_of_numbers():
        return name, _to_be_called(name.removeprefix(_APART))
    for prefix in ("load_", "store_", "narrow_"):
        if name.startswith(prefix) and name.removeprefix(prefix) in OTHERS:
            type_name = name.removeprefix(prefix)
            return f"conversions_{type_name}", conversions(ELEMENT_TYPES[type_name])
    for type_name in _ALL_TYPES:
        template = _paragraphs().get(name.removesuffix(type_name) + "$T")
        if template and name.endswith("_" + type_name):
            return name, _filled(template, ELEMENT_TYPES[type_name])
    return None


@cache
def functions_of_numbers() -> frozenset[str]:
    """The long functions from numbers to a number; with `hlo_` before them, their other names."""
    return frozenset(name for name, text in _paragraphs().items() if _NUMBERS.search(text))


def _to_be_called(name: str) -> str:
    """The definition of a function of numbers under its other name."""
    found = _NUMBERS.search(_paragraphs()[name])
    assert found, name
    kind, _, parameters = found.groups()
    given = ", ".join(part.split()[1] for part in parameters.split(", "))
    return (
        f"// {name}, to be called where the code is to be short rather than fast.\n"
        f"__attribute__((always_inline))\nstatic inline {kind} {_APART}{name}({parameters}) {{\n"
        f"  return {name}({given});\n}}\n"
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
    return re.sub(r"\$[A-Za-z]", lambda m: values[m[0]], template)


@cache
def reserved() -> frozenset[str]:
    """Names that emitted identifiers must not take."""
    names = {name.removesuffix("_$T") for name in _paragraphs()} | set(ELEMENT_TYPES)
    return frozenset(names)


@cache
def apart(name: str) -> str:
    """The definition of a function that is compiled apart; nothing if there is none of the name.

    Those of numbers are where loops in lanes can call them, or they would not run in lanes.
    """
    if name.removeprefix(_APART) in functions_of_numbers() and not calls_with_vectors():
        return ""
    found = _definition(name) if name.startswith(_APART) else None
    return found[1] if found and re.search(r"^static ", found[1], re.MULTILINE) else ""


def prelude(code: str, *, whole: bool = True) -> str:
    """The definitions that some code needs, each after those that it needs itself.

    Parameters
    ----------
    whole : whether functions are among them that are compiled apart.
    """
    done: dict[str, str] = {}
    there: set[str] = set() if whole else set(_WORD.findall(code))
    _collect(code, done, {word for word in there if apart(word)})
    needed = "".join(f"\n{text}" for text in done.values())
    words = set(_WORD.findall(code + needed))
    others = "".join(
        f"typedef u{'16' if ELEMENT_TYPES[n].bits == 16 else '8'} {n};\n"
        for n in OTHERS
        if n in words
    )
    return TYPEDEFS + others + needed


def _collect(code: str, done: dict[str, str], begun: set[str]) -> None:
    """Add what some code needs; definitions nest a few levels deep, and one calls itself."""
    for word in dict.fromkeys(_WORD.findall(code)):
        found = _definition(word)
        if found and found[0] not in begun:
            name, text = found
            begun.add(name)
            _collect(re.sub(r"//.*", "", text), done, begun)
            done[name] = text
