"""The `.c` files of the prelude, read into paragraphs: a comment, then a function.

People write these files as C, so this is where C is read as text; what comes of it is data.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from codegen.kinds import Pointer, Record

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from codegen.kinds import Kind

_BREAK = re.compile(r"\n\n(?=//|static|__attribute__|#)")
# The rows of texts for `$1`, `$2` and so on in a paragraph, each of which gives a function.
_ROWS = re.compile(r"^//: (.*)\n", re.MULTILINE)
_COLUMN = re.compile(r"\$(\d)")
_NAMED = re.compile(
    r"^(?:static|typedef|extern)\b[^;]*?\b(\w+(?:_\$T)?)\s*[(\[=]|^struct (\w+(?:_\$T)?) \{"
    r"|^#pragma omp declare reduction\((\w+) |^#define (\w+)",
    re.MULTILINE,
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_NO_CODE = re.compile(r'//.*|"[^"\n]*"')
_HOLE = re.compile(r"\$[A-Za-z]")
_STATIC = re.compile(r"^static ", re.MULTILINE)
_HEAD = re.compile(r"^static ([^{]*) \{$", re.MULTILINE)
_OF_NUMBERS = re.compile(
    r"^__attribute__\(\(always_inline\)\)\n"
    r"static inline (f32|f64) (\w+)\((\1 \w+(?:, \1 \w+)*)\) \{$",
    re.MULTILINE,
)


_OF_COMPLEX = re.compile(
    r"^__attribute__\(\(always_inline\)\)\nstatic inline (?:c64|c128) ", re.MULTILINE
)


class NumberFunction(NamedTuple):
    """The head of a function from numbers to a number of the same type.

    Attributes
    ----------
    parameters : as C declares them.
    arguments : their names.
    """

    kind: str
    parameters: str
    arguments: tuple[str, ...]


class Prototype(NamedTuple):
    """The types of a function's parameters, and of its value: "void" if it gives none."""

    parameters: tuple[Kind, ...]
    result: Kind


def prototype_in(text: str, name: str) -> Prototype | None:
    """The prototype of a function that a paragraph defines; None if it is something else."""
    match = re.search(
        rf"^static (?:inline )?([^;{{}}()]*?)\b{name}\(([^)]*)\) {{$", text, re.MULTILINE
    )
    if match is None:
        return None
    parameters = match[2].split(",") if match[2] != "void" else []
    return Prototype(tuple(map(_kind, parameters)), _kind(match[1]))


def _kind(declared: str) -> Kind:
    """The type in the declaration of a parameter, or before a function's name."""
    listed = _WORD.findall(declared)
    name = next(word for word in listed if word not in ("const", "struct"))
    kind = Record(name) if "struct" in listed else name
    if "*" not in declared:
        return kind
    return Pointer(kind, const="const" in listed, restrict="restrict" in listed)


def paragraphs_of(text: str) -> Iterator[tuple[str, str]]:
    """The paragraphs of a file that define something: the name of each, and its text."""
    for paragraph in (row for part in _BREAK.split(text.strip()) for row in _of_rows(part)):
        match = _NAMED.search(paragraph)
        if match:
            yield next(name for name in match.groups() if name), paragraph + "\n"


def _of_rows(paragraph: str) -> Iterator[str]:
    """A paragraph; one with a line `//: add +, subtract -` for each row, filled in for `$1 $2`."""
    rows = _ROWS.search(paragraph)
    for row in rows[1].split(", ") if rows else [""]:
        texts = row.split()
        yield _COLUMN.sub(lambda hole: texts[int(hole[1]) - 1], _ROWS.sub("", paragraph))  # noqa: B023


@lru_cache(maxsize=512)
def words(text: str) -> Collection[str]:
    """The words of a paragraph, each once, in order."""
    return dict.fromkeys(_WORD.findall(text))


def code_of(text: str) -> str:
    """A paragraph without its comments and quoted texts."""
    return _NO_CODE.sub("", text)


def filled(template: str, values: Mapping[str, str]) -> str:
    """A template with texts in the place of `$T` and the like."""
    return _HOLE.sub(lambda hole: values[hole[0]], template)


def is_static(text: str) -> bool:
    """Whether a paragraph defines something that no other file sees."""
    return _STATIC.search(text) is not None


def with_storage(text: str, storage: str) -> str:
    """A paragraph with another word, or none, for its first `static `."""
    return _STATIC.sub(storage, text, count=1)


def head_of(text: str) -> str:
    """The head of the function that a paragraph defines, without `static`."""
    match = _HEAD.search(text)
    assert match, text
    return match[1]


def is_complex_function(text: str) -> bool:
    """Whether a paragraph defines an inlined function to complex numbers."""
    return _OF_COMPLEX.search(text) is not None


def with_words(text: str, others: Mapping[str, str]) -> str:
    """A paragraph with other words in the place of some."""
    return _WORD.sub(lambda word: others.get(word[0], word[0]), text)


def number_function(text: str) -> NumberFunction | None:
    """The head of an inlined function from numbers to a number; None of any other paragraph."""
    match = _OF_NUMBERS.search(text)
    if match is None:
        return None
    names = tuple(part.split()[1] for part in match[3].split(", "))
    return NumberFunction(match[1], match[3], names)
