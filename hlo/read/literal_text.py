"""Reads literals: the text in the parentheses of `constant(...)`.

The braces of an array literal only repeat its shape, so they are compared with the shape as one
string, and the numbers are read in one go. That is a hundred times faster than a grammar, and a
dump of a network with its weights is nothing but numbers.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError, Span
from hlo.infer.size import MAX_RANK
from hlo.read.by_grammar import ShapedLiteral, split_elements, split_shaped_literal
from hlo.read.value_text import read_shape
from hlo.types.element_type import F8E8M0FNU, F16
from hlo.types.literal import Literal, unknown
from hlo.types.nan_text import nan_bits
from hlo.types.rounding import ROUNDED_ONCE, to_odd
from hlo.types.shape import Shape, tuple_of
from hlo.wording import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.types.element_type import ElementType

# Elements that a literal may have beside those that are written out: memory is taken for them.
MAX_FILLED = 2**25
# NumPy counts the bytes of an array in 63 bits, as if no dimension were empty.
MOST_BYTES = 2**63 - 1
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z", re.ASCII)
# More digits than any integer type takes are no integer, however many.
_INTEGER = re.compile(r"-?\d{1,40}\Z", re.ASCII)
_NAN = re.compile(r"(-?)nan(?:\(0x([0-9a-fA-F]+)\))?\Z")
_PART = r"\s*([^(){},;\s]+(?:\([^()]*\))?)\s*"
_PAIR = re.compile(rf"\({_PART},{_PART}\)", re.ASCII)
_WORD = re.compile(r"[^\s{},]+", re.ASCII)
# Numbers with blanks between them: characters of all that `float` and `int` take.
_NUMBERS = re.compile(r"(?:[\d.\- ]++|[eE][+-]?)*+", re.ASCII)
_INTEGERS = re.compile(r"(?:-?\d{1,40}(?: |\Z))*+", re.ASCII)
_BLANKS = str.maketrans("{},", "   ")
# The class of a byte of a literal: 0 for a separator, the brace itself, or part of a word.
_KINDS = np.full(256, ord("w"), np.uint8)
_KINDS[[ord(c) for c in " ,\n\r\t\f\v"]] = 0
_KINDS[[ord(c) for c in "{}"]] = [ord(c) for c in "{}"]


def read_literal(shape: Shape, text: str, span: Span | None) -> Literal:
    """The literal that a text spells.

    Parameters
    ----------
    shape : what it must be; its layout is carried along.
    text : without comments: `{ {1, 2}, {3, 4} }`, `(1, {2, 3})`, `{...}`.
    span : where the text is.

    Raises
    ------
    HloError
        HLO003 if the text is no literal of this shape.
    """
    try:
        return _literal(shape, text.strip())
    except _BadLiteralError as error:
        message = f"literal of {shape.text_without_layout}: {error}"
        notes = (SHAPE_IN_FRONT,) if _OLD_FORM.match(text) else ()
        raise HloError("HLO003", message, span and error.span_in(text, span), notes) from None


def read_shaped_literal(text: str, span: Span | None) -> Literal:
    """A literal with its shape in front: `s32[2] {1, 2}`, `( s32[] 1, f32[] 2 )`."""
    try:
        split = split_shaped_literal(text)
    except HloError as error:
        raise HloError("HLO003", f"a literal after its shape: {error.message}", span) from None
    return _shaped_literal(split, span)


def _shaped_literal(split: ShapedLiteral, span: Span | None) -> Literal:
    if isinstance(split, list):
        elements = tuple(_shaped_literal(element, span) for element in split)
        return Literal(tuple_of(*(e.shape for e in elements)), elements=elements)
    shape, text = split
    return read_literal(read_shape(shape, span), text, span)


# XLA wrote `f32[2] {1, 2}` in the parentheses until 2019.
_OLD_FORM = re.compile(r"\s*[a-z]\w*\[[\d,]*\]")
SHAPE_IN_FRONT = "XLA has removed the shape in front of the numbers: it is that of the constant"


class _BadLiteralError(Exception):
    """The reason why a text is no literal of its shape; `word` is the wrong one, if known."""

    def __init__(self, message: str, word: str = "") -> None:
        super().__init__(message)
        self.word = word

    def span_in(self, text: str, span: Span) -> Span:
        """The span of the word in a text that fills a span."""
        match = re.search(rf"(?<![^\s{{}},(]){re.escape(self.word)}(?![^\s{{}},)])", text)
        return span.part(*match.span()) if match and self.word else span


def _literal(shape: Shape, text: str) -> Literal:
    if shape.is_tuple:
        return _tuple(shape, text)
    if not shape.is_array:
        raise _BadLiteralError("only arrays and tuples can be written as literals")
    if any(size < 0 for size in shape.dims):
        raise _BadLiteralError("a dimension without bound can't be filled")
    if shape.rank > MAX_RANK:
        raise _BadLiteralError(f"it has more than {MAX_RANK} dimensions")
    if prod(size for size in shape.dims if size) * shape.element_type.bytes > MOST_BYTES:
        raise _BadLiteralError("it has more elements than there are addresses")
    if text == "{...}" and shape.dims:
        return _elided(shape)
    words = text if not shape.element_type.is_complex else _PAIR.sub(r"\1;\2", text)
    if shape.dims and _WORD.fullmatch(words):
        return _first_element(shape, words)
    # Braces must be as the shape says. Commas XLA skips like blanks.
    structure = _structure(words)
    if len(structure) != _skeleton_length(shape.dims) or structure != _skeleton(shape.dims):
        raise _BadLiteralError(_mismatch(structure, shape))
    elements = words.translate(_BLANKS).split()
    if len(elements) != shape.size:
        raise _BadLiteralError("blanks are spaces, tabs and line breaks")  # not those of Unicode
    array = _convert(elements, shape.element_type).reshape(shape.dims)
    array.setflags(write=False)
    return Literal(shape, array)


def _first_element(shape: Shape, word: str) -> Literal:
    """XLA takes a bare number for the first element, and leaves the others 0."""
    if shape.size > MAX_FILLED:
        raise _BadLiteralError(f"1 element is given, {shape.size} are needed")
    array = np.zeros(shape.dims, shape.element_type.dtype)
    array.reshape(-1)[:1] = _convert([word], shape.element_type)
    array.setflags(write=False)
    return Literal(shape, array)


def _elided(shape: Shape) -> Literal:
    """A literal whose elements are not known; where there are none, nothing is left out."""
    return Literal(shape, unknown(shape), elided=shape.size > 0)


def _tuple(shape: Shape, text: str) -> Literal:
    if text == "{...}":
        elements = tuple(_literal(element, text) for element in shape.elements)
        return Literal(shape, elements=elements, elided=True)
    if not text.startswith("("):
        raise _BadLiteralError("expects `(`")
    try:
        pieces = split_elements(text)
    except HloError as error:
        raise _BadLiteralError(error.message) from None
    if len(pieces) != len(shape.elements):
        raise _BadLiteralError(
            f"{counted(len(pieces), 'element')} for a tuple of {len(shape.elements)}"
        )
    elements = tuple(_literal(s, p) for s, p in zip(shape.elements, pieces, strict=True))
    return Literal(shape, elements=elements)


def _structure(text: str) -> str:
    """The braces of a literal, with a `w` for each word."""
    kinds = _KINDS[np.frombuffer(text.encode("ascii", "replace"), np.uint8)]
    goes_on = np.zeros(kinds.shape, np.bool_)
    goes_on[1:] = (kinds[1:] == ord("w")) & (kinds[:-1] == ord("w"))
    return kinds[(kinds != 0) & ~goes_on].tobytes().decode()


def _skeleton_length(dims: tuple[int, ...]) -> int:
    length = 1
    for size in reversed(dims):
        length = 2 + size * length
    return length


@lru_cache(1_000)
def _skeleton(dims: tuple[int, ...]) -> str:
    """The braces of a literal of these dimensions, with a `w` for each number."""
    # Nothing is written inside of an empty dimension, so those after it may have any size.
    if 0 in dims:
        dims = dims[: dims.index(0) + 1]
    skeleton = "w"
    for size in reversed(dims):
        skeleton = "{" + skeleton * size + "}"
    return skeleton


def _mismatch(structure: str, shape: Shape) -> str:
    if shape.dims and not structure.startswith("{"):
        return "expects `{`"
    if structure.count("w") != shape.size:
        return f"{structure.count('w')} elements are given, {shape.size} are needed"
    return "its braces do not match the dimensions"


def _convert(words: list[str], element_type: ElementType) -> NDArray[Any]:
    if element_type.kind == "pred":
        return _predicates(words)
    if element_type.is_integer:
        return _integers(words, element_type)
    if element_type.is_complex:
        if not all(";" in word for word in words):
            raise _BadLiteralError("a complex number is (real, imaginary)", words[0])
        halves = [half for word in words for half in word.split(";")]
        parts = _floats(halves, element_type.real)
        return parts.view(element_type.dtype)
    return _floats(words, element_type)


def _predicates(words: list[str]) -> NDArray[Any]:
    # XLA takes any integer for a predicate: 2 is true.
    known = {"true": True, "false": False, "1": True, "0": False}
    for word in set(words):
        if word not in known:
            if not _INTEGER.match(word):
                raise _BadLiteralError("a predicate is true, false or an integer", word)
            known[word] = int(word) != 0
    return np.array([known[word] for word in words], np.bool_)


def _integers(words: list[str], element_type: ElementType) -> NDArray[Any]:
    # A text that ends in a lone sign matches in Python before 3.11.5, too; see `hlo.read.quoting`.
    if words[-1:] == ["-"] or not _INTEGERS.fullmatch(" ".join(words)):
        wrong = next(word for word in words if not _INTEGER.match(word))
        raise _BadLiteralError("expects an integer", wrong)
    bits, signed = element_type.bits, element_type.kind == "signed"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    values = list(map(int, words))
    if bits == 64 and not signed:
        # XLA reads a negative number for u64 as its two's complement.
        values = [value % 2**64 if value >= -(2**63) else value for value in values]
    for value in (min(values, default=0), max(values, default=0)):
        if not low <= value <= high:
            message = f"{value} is out of range, {low} to {high}"
            raise _BadLiteralError(message, words[values.index(value)])
    wide = np.array(values, np.int64 if signed else np.uint64)
    return wide.astype(element_type.dtype)


def _floats(words: list[str], element_type: ElementType) -> NDArray[Any]:
    values, payloads = _read_floats(words)
    wide = np.array(values, np.float64)
    for i in np.flatnonzero(np.isinf(wide)).tolist():
        if "inf" not in words[i]:
            raise _BadLiteralError(f"{words[i][:40]} is out of range for a double", words[i])
    if element_type is F8E8M0FNU:
        # NumPy's type rounds all between its two smallest numbers up, XLA's print of the smallest
        # one, 5.9e-39, among them.
        wide[(wide > 0) & (wide < 1.5 * 2.0**-127)] = 2.0**-127
    with np.errstate(all="ignore"):
        # XLA's conversions: of types of 8 bits from the double, of 16 bits from f32.
        near = to_odd(wide) if element_type in ROUNDED_ONCE else wide
        near = wide.astype(np.float32) if element_type is F16 else near
        array = near.astype(element_type.dtype)
    _check_range(words, wide, array, element_type)
    for i, negative, payload in payloads:
        _set_nan(array, i, payload, element_type, negative=negative)
    return array


def _read_floats(words: list[str]) -> tuple[list[float], list[tuple[int, bool, int | None]]]:
    """The numbers, and the index, sign and payload of each NaN among them."""
    if _NUMBERS.fullmatch(" ".join(words)):
        try:
            return list(map(float, words)), []
        except ValueError:
            pass  # which word it is, is found below
    values: list[float] = []
    payloads: list[tuple[int, bool, int | None]] = []
    for word in words:
        if _NUMBER.match(word) or word in ("inf", "-inf"):
            values.append(float(word))
        elif nan := _NAN.match(word):
            payloads.append((len(values), nan[1] == "-", int(nan[2], 16) if nan[2] else None))
            values.append(np.nan)
        elif word in ("true", "false"):
            values.append(word == "true")
        else:
            raise _BadLiteralError("expects a number", word)
    return values, payloads


def _check_range(
    words: list[str], wide: NDArray[Any], array: NDArray[Any], element_type: ElementType
) -> None:
    """A finite number that its type can't hold is a mistake, not an infinity."""
    lost = np.isfinite(wide) & ~np.isfinite(array.astype(np.float64))
    if lost.any():
        word = words[int(lost.argmax())]
        raise _BadLiteralError(f"{word} is out of range for {element_type}", word)


def _set_nan(
    array: NDArray[Any], i: int, payload: int | None, element_type: ElementType, *, negative: bool
) -> None:
    """Give a NaN its sign and payload, in the types that have both."""
    bits = array.view(f"u{array.dtype.itemsize}")
    if array[i] != array[i]:
        try:
            bits[i] = nan_bits(int(bits[i]), element_type, payload, negative=negative)
        except ValueError as error:
            raise _BadLiteralError(str(error)) from None
