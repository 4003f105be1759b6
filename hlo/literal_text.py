"""Reads literals: what stands in the parentheses of `constant(...)`.

The braces of an array literal only repeat its shape, so they are compared with the shape as one
string, and the numbers are read in one go. That is a hundred times faster than a grammar, and a
dump of a network with its weights is nothing but numbers.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.element_type import ElementType
from hlo.error import HloError, Source, Span
from hlo.lexer import Scanner
from hlo.literal import Literal
from hlo.shape import Shape
from hlo.value_text import read_shape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

# Characters of the longest literal that is read; nothing longer is asked for.
MAX_LITERAL = 2**31
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")
_INTEGER = re.compile(r"-?\d+\Z")
_NAN = re.compile(r"(-?)nan(?:\(0x([0-9a-fA-F]+)\))?\Z")
_PAIR = re.compile(r"\(\s*([^(),\s]+(?:\([^()]*\))?)\s*,\s*([^(),\s]+(?:\([^()]*\))?)\s*\)")
_WORD = re.compile(r"[^\s{},]+")
_NOT_STRUCTURE = str.maketrans("", "", " ,\n\r\t")


def read_literal(shape: Shape, text: str, span: Span | None) -> Literal:
    """The literal that a text spells.

    Parameters
    ----------
    shape : what it must be; its layout is carried along.
    text : without comments: `{ {1, 2}, {3, 4} }`, `(1, {2, 3})`, `{...}`.
    span : where the text stands.

    Raises
    ------
    HloError
        HLO003 if the text is no literal of this shape.
    """
    try:
        return _literal(shape, text.strip())
    except _BadLiteralError as error:
        raise HloError("HLO003", f"literal of {shape}: {error}", span) from None


def read_shaped_literal(text: str, span: Span | None) -> Literal:
    """A literal with its shape in front: `s32[2] {1, 2}`, `( s32[] 1, f32[] 2 )`."""
    scanner = Scanner(Source(text), text)
    start = scanner.skip_space(0)
    if text[start : start + 1] == "(":
        inner = scanner.balanced(start) - 1
        pieces = [text[a:b] for a, b in scanner.pieces(start + 1, inner)]
        elements = tuple(read_shaped_literal(piece, span) for piece in pieces)
        return Literal(_tuple_shape(elements), elements=elements)
    end = scanner.shape(start)
    if end is None:
        raise HloError("HLO003", "a literal begins with its shape", span)
    return read_literal(read_shape(text[start:end], span), text[end:], span)


def _tuple_shape(elements: Iterable[Literal]) -> Shape:
    from_elements = tuple(element.shape for element in elements)
    return Shape(read_shape("()", None).element_type, elements=from_elements)


class _BadLiteralError(Exception):
    """Why a text is no literal of its shape."""


def _literal(shape: Shape, text: str) -> Literal:
    if shape.is_tuple:
        return _tuple(shape, text)
    if not shape.is_array:
        raise _BadLiteralError("only arrays and tuples can be written as literals")
    if any(size < 0 for size in shape.dims):
        raise _BadLiteralError("a dimension without bound can't be filled")
    if text in ("{...}", "..."):
        return _elided(shape)
    words = text if not shape.element_type.is_complex else _PAIR.sub(r"\1;\2", text)
    if shape.dims and not words.startswith("{") and _WORD.fullmatch(words):
        # XLA takes a bare number for the first element, and leaves the others 0.
        array = np.zeros(shape.dims, shape.element_type.dtype)
        array.reshape(-1)[:1] = _convert([words], shape.element_type)
        array.setflags(write=False)
        return Literal(shape, array)
    # Braces must be as the shape says. Commas XLA skips like blanks.
    found = _WORD.sub("w", words).translate(_NOT_STRUCTURE)
    if found != _skeleton(shape.dims):
        raise _BadLiteralError(_mismatch(found, shape))
    words = _WORD.findall(words)
    array = _convert(words, shape.element_type).reshape(shape.dims)
    array.setflags(write=False)
    return Literal(shape, array)


def _elided(shape: Shape) -> Literal:
    # One zero, repeated by a stride of 0: an elided constant takes no memory, however large.
    zero = np.zeros((), shape.element_type.dtype)
    return Literal(shape, np.broadcast_to(zero, shape.dims), elided=True)


def _tuple(shape: Shape, text: str) -> Literal:
    if text == "{...}":
        elements = tuple(_literal(element, text) for element in shape.elements)
        return Literal(shape, elements=elements, elided=True)
    if not text.startswith("("):
        raise _BadLiteralError("expects `(`")
    try:
        scanner = Scanner(Source(text), text)
        end = scanner.balanced(0)
        pieces = [text[a:b] for a, b in scanner.pieces(1, end - 1)]
    except HloError as error:
        raise _BadLiteralError(error.message) from None
    if len(pieces) != len(shape.elements):
        raise _BadLiteralError(f"{len(pieces)} elements for a tuple of {len(shape.elements)}")
    elements = tuple(_literal(s, p) for s, p in zip(shape.elements, pieces, strict=True))
    return Literal(shape, elements=elements)


@lru_cache(1_000)
def _skeleton(dims: tuple[int, ...]) -> str:
    """The braces of a literal of these dimensions, with a `w` for each number."""
    skeleton = "w"
    for size in reversed(dims):
        if len(skeleton) * size > MAX_LITERAL:
            raise _BadLiteralError("no text is long enough for it")
        skeleton = "{" + skeleton * size + "}"
    return skeleton


def _mismatch(found: str, shape: Shape) -> str:
    if shape.dims and not found.startswith("{"):
        return "expects `{`"
    if found.count("w") != shape.size:
        return f"{found.count('w')} elements are given, {shape.size} are needed"
    return "its braces do not match the dimensions"


def _convert(words: list[str], element_type: ElementType) -> NDArray[Any]:
    if element_type.kind == "pred":
        return _predicates(words)
    if element_type.is_integer:
        return _integers(words, element_type)
    if element_type.is_complex:
        halves = [half for word in words for half in (word.split(";") + ["0"])[:2]]
        parts = _floats(halves, element_type.real)
        return parts.view(element_type.dtype)
    return _floats(words, element_type)


def _predicates(words: list[str]) -> NDArray[Any]:
    # XLA takes any integer for a predicate: 2 is true.
    known = {"true": True, "false": False, "1": True, "0": False}
    for word in set(words):
        if word not in known:
            if not _INTEGER.match(word):
                raise _BadLiteralError(f"`{word}` is no predicate")
            known[word] = int(word) != 0
    return np.array([known[word] for word in words], np.bool_)


def _integers(words: list[str], element_type: ElementType) -> NDArray[Any]:
    for word in words:
        if not _INTEGER.match(word):
            raise _BadLiteralError(f"`{word}` is no integer")
    bits, signed = element_type.bits, element_type.kind == "signed"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    values = [int(word) for word in words]
    if bits == 64 and not signed:
        # XLA reads a negative number for u64 as its two's complement.
        values = [value % 2**64 if value >= -(2**63) else value for value in values]
    for value in (min(values, default=0), max(values, default=0)):
        if not low <= value <= high:
            raise _BadLiteralError(f"{value} is out of range, {low} to {high}")
    wide = np.array(values, np.int64 if signed else np.uint64)
    return wide.astype(element_type.dtype)


def _floats(words: list[str], element_type: ElementType) -> NDArray[Any]:
    wide = np.empty(len(words), np.float64)
    payloads: list[tuple[int, bool, int | None]] = []
    for i, word in enumerate(words):
        if _NUMBER.match(word) or word in ("inf", "-inf"):
            wide[i] = float(word)
        elif nan := _NAN.match(word):
            wide[i] = np.nan
            payloads.append((i, nan[1] == "-", int(nan[2], 16) if nan[2] else None))
        elif word in ("true", "false"):
            wide[i] = word == "true"
        else:
            raise _BadLiteralError(f"`{word}` is no number")
    with np.errstate(all="ignore"):
        array = wide.astype(element_type.dtype)
    _check_range(words, wide, array, element_type)
    for i, negative, payload in payloads:
        _set_nan(array, i, negative, payload, element_type)
    return array


def _check_range(
    words: list[str], wide: NDArray[Any], array: NDArray[Any], element_type: ElementType
) -> None:
    """A finite number that its type can't hold is a mistake, not an infinity."""
    lost = np.isfinite(wide) & ~np.isfinite(array.astype(np.float64))
    if lost.any():
        word = words[int(lost.argmax())]
        raise _BadLiteralError(f"{word} is out of range for {element_type}")


def _set_nan(
    array: NDArray[Any], i: int, negative: bool, payload: int | None, element_type: ElementType
) -> None:
    """Give a NaN its sign and payload, in the types that have both."""
    import ml_dtypes

    if array[i] == array[i]:
        return  # a type without NaN
    width = array.dtype.itemsize * 8
    bits = array.view(f"u{array.dtype.itemsize}")
    info = ml_dtypes.finfo(array.dtype)
    if "fn" in element_type.name:
        if negative and "uz" not in element_type.name and "fnu" not in element_type.name:
            bits[i] |= bits.dtype.type(1 << (width - 1))
        return
    mantissa = (1 << int(info.nmant)) - 1
    if payload is not None:
        if not 0 < payload <= mantissa:
            raise _BadLiteralError(f"NaN payload {payload:#x} is out of range")
        bits[i] = (int(bits[i]) & ~mantissa) | payload
    sign = 1 << (width - 1)
    bits[i] = int(bits[i]) | sign if negative else int(bits[i]) & ~sign
