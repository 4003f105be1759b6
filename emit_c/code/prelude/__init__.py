"""The C functions that emitted code may call, and which of them it does call.

They are those of `codegen.prelude`, and what is C's alone in the `.c` files beside this one.
Emitted code begins with exactly the functions that it needs, those that they call first, and with
no header: the compiler takes 20 ms for a kernel and 300 ms for `immintrin.h`.
A function that is defined here under a name that begins with `hlo_` is so long that it is compiled
apart, once for all modules; those that are only declared are the runtime's. Long functions from
numbers to a number have two names: inlined, `exp_f32`; called, `hlo_exp_f32`. Functions of complex
numbers are inlined under both, as these are made of: `hlo_exp_c64` calls `hlo_exp_f64`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.file_text import Section
from codegen.prelude import HERE, Prelude, definitions_of, typedefs_of_others
from codegen.prelude.paragraph import (
    code_of,
    head_of,
    is_complex_function,
    is_static,
    number_function,
    with_storage,
    with_words,
    words,
)
from emit_c.code.vectors import typedefs_of_vectors
from hlo.support.compiler import calls_with_vectors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from codegen.callees import Callee

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
# Functions of numbers are also made for vectors: not for single branches, for none has an effect.
_INLINED = "__attribute__((always_inline))\nstatic inline "
_WITH_VECTORS = '__attribute__((simd("notinbranch"), const))\n'


@cache
def _definition(name: str) -> tuple[str, str] | None:
    """The name of the paragraph that defines a word, and the paragraph."""
    short = _inlined_names().get(name)
    if short is None:
        return PRELUDE.definition(name)
    return name, _that_calls(short) if short in complex_functions() else _to_be_called(short)


@cache
def long_functions() -> frozenset[str]:
    """The functions with two names, of which that with `hlo_` before it makes the code short."""
    return functions_of_numbers() | complex_functions()


def called_name(function: str) -> str:
    """The other name of a long function, which makes the code short."""
    return _APART + function


def called(function: Callee) -> Callee:
    """A long function under its other name."""
    stem = called_name(function.stem)
    return FUNCTIONS[stem] if function.type is None else FUNCTIONS[stem, function.type]


@cache
def _inlined_names() -> dict[str, str]:
    """The long functions, by their other names."""
    return {called_name(name): name for name in long_functions()}


@cache
def _library() -> frozenset[str]:
    """The functions of libraries; some of them are compiled apart."""
    return PRELUDE.library | _inlined_names().keys()


@cache
def complex_functions() -> frozenset[str]:
    """The functions to complex numbers that are made of long ones of numbers."""
    calls: dict[str, Collection[str]] = {}
    for name in PRELUDE.paragraphs:
        for function in {name.replace("$T", kind) for kind in ("c64", "c128")}:
            definition = PRELUDE.definition(function)
            if definition and is_complex_function(definition[1]):
                calls[function] = words(code_of(definition[1]))
    long = set(functions_of_numbers())
    while more := {name for name in calls.keys() - long if not long.isdisjoint(calls[name])}:
        long |= more
    return frozenset(long & calls.keys())


def _that_calls(name: str) -> str:
    """The definition of a complex function that calls those that it is made of."""
    definition = PRELUDE.definition(name)
    assert definition, name
    used = words(code_of(definition[1]))
    called = {word: called_name(word) for word in used if word in long_functions()}
    return with_words(definition[1], called)


@cache
def functions_of_numbers() -> frozenset[str]:
    """The long functions from numbers to a number; with `hlo_` before them, their other names."""
    return frozenset(name for name, text in PRELUDE.paragraphs.items() if number_function(text))


def _to_be_called(name: str) -> str:
    """The definition of a function of numbers under its other name."""
    function = number_function(PRELUDE.paragraphs[name])
    assert function, name
    return (
        f"// {name}, to be called where the code is to be short rather than fast.\n"
        "__attribute__((always_inline))\n"
        f"static inline {function.kind} {called_name(name)}({function.parameters}) {{\n"
        f"  return {name}({', '.join(function.arguments)});\n}}\n"
    )


def apart(name: str) -> str:
    """The definition of a function that is compiled apart; nothing if there is none of the name.

    Those of numbers are where loops in lanes can call them, or they would not run in lanes.
    """
    # Another compiler may be chosen in between.
    is_of_numbers = _inlined_names().get(name) in functions_of_numbers()
    return "" if is_of_numbers and not calls_with_vectors() else _apart(name)


@cache
def _apart(name: str) -> str:
    if _inlined_names().get(name) in complex_functions():
        return ""
    definition = _definition(name) if name in _library() else None
    return definition[1] if definition and is_static(definition[1]) else ""


def prelude(names: Iterable[str], *, whole: bool = True) -> str:
    """The text of `prelude_sections`."""
    return "".join(section.text for section in prelude_sections(names, whole=whole))


def prelude_sections(names: Iterable[str], *, whole: bool = True) -> list[Section]:
    """The definitions of some names, each after those that it needs itself.

    Parameters
    ----------
    names : of functions and types that code mentions, as they come; others are left alone.
    whole : whether functions are among them that are compiled apart.
    """
    wanted = tuple(names)
    elsewhere = () if whole else tuple(filter(apart, with_called(wanted)))
    done = definitions_of(wanted, _definition, elsewhere)
    # The caller declares those that its own code calls.
    called = words("".join(done.values()))
    declared = "".join(f"{declaration(name)};\n" for name in elsewhere if name in called)
    needed = declared + "".join(f"\n{text}" for text in done.values())
    used = {*wanted, *words(needed)}
    types = f"{TYPEDEFS}{typedefs_of_others(used)}{typedefs_of_vectors(used)}{declared}"
    return [Section(types), *(Section(f"\n{text}", name) for name, text in done.items())]


def with_called(names: Iterable[str]) -> tuple[str, ...]:
    """Some names, and those of the functions apart that complex functions among them call."""
    all_names = dict.fromkeys(names)
    waiting = list(all_names)
    while waiting:
        name = waiting.pop()
        definition = _definition(name) if name in _library() and not apart(name) else None
        nested = words(definition[1]) if definition else ()
        new = [word for word in nested if word in _library() and word not in all_names]
        all_names |= dict.fromkeys(new)
        waiting += new
    return tuple(all_names)


def apart_as(name: str, storage: str) -> str:
    """The definition of a function that is compiled apart, for vectors as well."""
    return with_storage(apart(name).replace(_INLINED, f"{_WITH_VECTORS}static "), storage)


def declaration(name: str) -> str:
    """The head of a function that is compiled apart, for vectors as well."""
    text = apart_as(name, "static ")
    return f"{_WITH_VECTORS if _WITH_VECTORS in text else ''}{head_of(text)}"
