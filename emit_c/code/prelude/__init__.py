"""The C functions that emitted code may call, and which of them it does call.

They are those of `codegen.prelude`, and what is C's alone in the `.c` files beside this one.
Emitted code begins with exactly the functions that it needs, those that they call first, and with
no header: the compiler takes 20 ms for a kernel and 300 ms for `immintrin.h`.
A function that is defined here under a name that begins with `hlo_` is so long that it is compiled
apart, once for all modules; those that are only declared are the runtime's. Long functions from
numbers to a number have two names: inlined, `exp_f32`; called, `hlo_exp_f32`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from codegen.prelude import HERE, Prelude, definitions_of, typedefs_of_others
from codegen.prelude.paragraph import is_static, number_function, words
from hlo.support.compiler import calls_with_vectors

if TYPE_CHECKING:
    from collections.abc import Iterable

PRELUDE = Prelude(HERE, Path(__file__).parent)
# Made of the compiler's own names for widths, so that no header is needed.
TYPEDEFS = """\
typedef __INT8_TYPE__ s8;
typedef __INT16_TYPE__ s16;
typedef __INT32_TYPE__ s32;
typedef __INT64_TYPE__ s64;
typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;
typedef float f32;
typedef double f64;
typedef float _Complex c64;
typedef double _Complex c128;
typedef u8 pred;
"""
_APART = "hlo_"


@cache
def _definition(name: str) -> tuple[str, str] | None:
    """The name of the paragraph that defines a word, and the paragraph."""
    if name.startswith(_APART) and name.removeprefix(_APART) in functions_of_numbers():
        return name, _to_be_called(name.removeprefix(_APART))
    return PRELUDE.definition(name)


@cache
def functions_of_numbers() -> frozenset[str]:
    """The long functions from numbers to a number; with `hlo_` before them, their other names."""
    return frozenset(name for name, text in PRELUDE.paragraphs.items() if number_function(text))


def _to_be_called(name: str) -> str:
    """The definition of a function of numbers under its other name."""
    found = number_function(PRELUDE.paragraphs[name])
    assert found, name
    return (
        f"// {name}, to be called where the code is to be short rather than fast.\n"
        "__attribute__((always_inline))\n"
        f"static inline {found.kind} {_APART}{name}({found.parameters}) {{\n"
        f"  return {name}({', '.join(found.arguments)});\n}}\n"
    )


@cache
def apart(name: str) -> str:
    """The definition of a function that is compiled apart; nothing if there is none of the name.

    Those of numbers are where loops in lanes can call them, or they would not run in lanes.
    """
    if name.removeprefix(_APART) in functions_of_numbers() and not calls_with_vectors():
        return ""
    found = _definition(name) if name.startswith(_APART) else None
    return found[1] if found and is_static(found[1]) else ""


def prelude(names: Iterable[str], *, whole: bool = True) -> str:
    """The definitions of some names, each after those that it needs itself.

    Parameters
    ----------
    names : of functions and types that code mentions, as they come; others are left alone.
    whole : whether functions are among them that are compiled apart.
    """
    given = tuple(names)
    done = definitions_of(given, _definition, () if whole else filter(apart, given))
    needed = "".join(f"\n{text}" for text in done.values())
    return TYPEDEFS + typedefs_of_others({*given, *words(needed)}) + needed
