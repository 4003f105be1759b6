"""The device functions that kernels may call: those of `codegen.prelude`, and CUDA's own.

What all emitters share is plain C, which becomes CUDA C here: `__device__` before functions, CUDA's
names for what the compiler knows, and parts of complex numbers by functions. What is written in
the `.cu` files beside this one is CUDA C already, and comes before a shared function of its name.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from codegen.kinds import Vector
from codegen.prelude import HERE, Prelude, definitions_of, typedefs_of_others
from codegen.prelude.paragraph import code_of, words
from hlo.types.element_type import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable

PRELUDE = Prelude(HERE, Path(__file__).parent, tables_as_bits=True)
TYPEDEFS = """\
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef u8 pred;
"""
_FORCED = "__attribute__((always_inline))\nstatic inline "
# Functions of complex numbers that C has, and CUDA has not.
_OF_COMPLEX = "acos", "acosh", "asin", "asinh", "atanh"
# CUDA's names for what compilers of C know; all others are the same without `__builtin_`.
BUILTINS = {
    **{f"c{name}": f"complex_{name}_c128" for name in _OF_COMPLEX},
    **{f"c{name}f": f"complex_{name}_c64" for name in _OF_COMPLEX},
    "complex": "make_complex",
    "clz": "__clz",
    "clzll": "__clzll",
    "popcountll": "__popcll",
    "inf": "infinity_f64",
    "inff": "infinity_f32",
    "nan": "quiet_nan_f64",
    "nanf": "quiet_nan_f32",
    "bit_cast": "__builtin_bit_cast",  # of C++ itself, and a constant
    "expect": "__builtin_expect",
}
_PART = re.compile(r"__(real|imag)__ ((?:\w+|\([^()]*\))(?:\[[^\]]*\]|\((?:[^()]|\([^()]*\))*\))*)")


def _as_cuda(paragraph: str) -> str:
    """A paragraph of C as CUDA C."""
    text = paragraph.replace(_FORCED, "static __device__ __forceinline__ ")
    text = re.sub(r"^static (?!__device__)", "static __device__ ", text, flags=re.MULTILINE)
    text = re.sub(r"\brestrict\b", "__restrict__", text)
    text = text.replace('__builtin_nanf("")', "quiet_nan_f32()")
    text = text.replace('__builtin_nan("")', "quiet_nan_f64()")
    text = re.sub(r"__builtin_(\w+)", lambda m: BUILTINS.get(m[1], m[1]), text)
    return _PART.sub(lambda m: f"{m[1]}_part({m[2]})", text)


# Defined together with the types of complex numbers.
_TOGETHER: dict[str, str] = dict.fromkeys(("c128", "make_complex", "real_part", "imag_part"), "c64")
# The types of several elements that are loaded or stored at once; they are aligned as a whole.
_VECTORS = {
    vector.name: vector
    for vector in (Vector(kind, count) for kind in ELEMENT_TYPES for count in range(1, 17))
}
_VECTOR_TEXT = """\
struct __align__({bytes}) {name} {{
  {kind} all[{count}];
  __device__ {kind} &operator[](s64 k) {{ return all[k]; }}
  __device__ const {kind} &operator[](s64 k) const {{ return all[k]; }}
}};
"""


@cache
def _definition(name: str) -> tuple[str, str] | None:
    if vector := _VECTORS.get(name):
        size = ELEMENT_TYPES[vector.of].bytes * vector.count
        return name, _VECTOR_TEXT.format(bytes=size, name=name, kind=vector.of, count=vector.count)
    definition = PRELUDE.definition(_TOGETHER.get(name, name))
    return (definition[0], _as_cuda(definition[1])) if definition else None


def words_of(used: Iterable[str]) -> frozenset[str]:
    """The words in the code of some words' definitions, and of those that these need."""
    texts = definitions_of(used, _definition).values()
    return frozenset(word for text in texts for word in words(code_of(text)))


def prelude(used: Iterable[str]) -> str:
    """The definitions of some words, each after those that it needs itself."""
    names = list(used)
    done = definitions_of(names, _definition)
    needed = "".join(f"\n{text}" for text in done.values())
    return TYPEDEFS + typedefs_of_others({*names, *words(needed)}) + needed
