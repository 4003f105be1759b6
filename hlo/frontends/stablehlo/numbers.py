"""Numbers of MLIR's texts, each of a type: integers fit it, floats are rounded to it.

Source: `AttributeParser.cpp` in MLIR.
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError
from hlo.frontends.stablehlo.items import Integer, Real
from hlo.types.element_type import ELEMENT_TYPES, F8E8M0FNU, PRED, ElementType
from hlo.types.rounding import rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hlo.types.shape import Shape

FOREIGN = "!quant."  # the dialect of quantized types
_NAMED = {"i1": "pred", "index": "s64", "complex<f32>": "c64", "complex<f64>": "c128"}
_INTEGER = re.compile(r"([su]?)i(\d{1,8})")
_FLOAT = re.compile(r"b?f\d\w*|tf32")
_WHOLE = re.compile(r"-?(?:0x[0-9A-Fa-f]+|[0-9]+)")
_MOST_BITS = (1 << 24) - 1  # of MLIR's integers


def element_type(name: str) -> ElementType:
    """The element type that MLIR calls by a name: `i32`, `ui8`, `f8E4M3FN`, `complex<f32>`.

    Raises
    ------
    HloError
        HLO013 if HLO has none.
    """
    if name.startswith(FOREIGN):
        # Who uses it is refused; functions beside it may do without.
        return ElementType(name, "none", 0, np.dtype(object))
    known = _NAMED.get(name) or _INTEGER.sub(lambda m: f"{m[1] or 's'}{m[2]}", name).lower()
    kind_found = ELEMENT_TYPES.get(known)
    if kind_found is None or not kind_found.is_array:
        raise HloError("HLO013", f"HLO has no element type `{name}`")
    return kind_found


# ------------------------------------------------- one number


def number(word: str, kind: str = "") -> Integer | Real | bool:
    """The number of `4 : i32`, `0x7FC00000 : f32` or `1 : i1`; i64 or f64 without a type.

    Raises
    ------
    HloError
        HLO012 if it does not fit the type, HLO013 if there is no such type.
    """
    is_real = "x" not in word and not {".", "e", "E"}.isdisjoint(word)
    if _FLOAT.fullmatch(kind) or (is_real and not kind):
        return Real(real(word, kind or "f64"), kind)
    value = integer(word, kind or "i64")
    return bool(value) if kind == "i1" else Integer(value, kind)


def integer(word: str, kind: str = "i64") -> int:
    """An integer of a type.

    Raises
    ------
    HloError
        HLO012 if it does not fit the type, HLO013 if there is no such type.
    """
    if not _WHOLE.fullmatch(word):
        raise HloError("HLO012", f"`{word[:40]}` is no integer")
    try:
        value = int(word, 16 if "x" in word else 10)
    except ValueError:  # Python reads no thousands of digits
        raise _unfitting(word, kind) from None
    return _fitting(value, kind, word)


def _fitting(value: int, kind: str, word: str) -> int:
    """The value, in the range of a type; `255 : i8` is -1, as i8 says nothing of a sign."""
    least, end, modulus = _range(kind)
    if not least <= value < end:
        raise _unfitting(word, kind)
    return value - modulus if value >= modulus >> 1 else value


def _unfitting(word: str, kind: str) -> HloError:
    return HloError("HLO012", f"{word[:40]} does not fit `{kind}`")


@lru_cache(64)
def _range(kind: str) -> tuple[int, int, int]:
    """The least number that a text may give a type, the end of these, and what they wrap around.

    Only types that say nothing of a sign have numbers that wrap around.
    """
    match = _INTEGER.fullmatch("si64" if kind == "index" else kind)
    bits = int(match[2]) if match else 0
    if match is None or bits > _MOST_BITS:
        raise HloError("HLO013", f"MLIR has no type `{kind[:40]}` of integers")
    size = 1 << bits
    match match[1]:
        case "s":
            return -(size >> 1), size >> 1, size
        case "u":
            return 0, size, 2 * size
        case _:
            return -(size >> 1), size, size


def real(word: str, kind: str = "f64") -> float:
    """A float of a type, or the one whose bits a hexadecimal number has.

    Raises
    ------
    HloError
        HLO012 if it is an integer, or has more bits; HLO013 if the bits are of a type that HLO
        has not.
    """
    if "x" in word:
        return float(_of_bits(word, element_type(kind)))
    if {".", "e", "E"}.isdisjoint(word):
        raise HloError("HLO012", f"{word[:40]} is an integer", notes=[f"a float is `{word[:40]}.`"])
    float_type = ELEMENT_TYPES.get(kind.lower())  # HLO has not all floats that attributes may be of
    return float(_rounded([float(word)], float_type)[0]) if float_type else float(word)


def number_text(value: Integer | Real) -> str:
    """The text of a number and its type, which `number` reads: `1.0 : f32`, `0x7F800000 : f32`."""
    if not math.isfinite(value):
        dtype = element_type(value.kind).dtype
        bits = int.from_bytes(np.array(value, dtype).tobytes(), "little")
        return f"0x{bits:0{2 * dtype.itemsize}X} : {value.kind}"
    return f"{value} : {value.kind}"


def _of_bits(word: str, kind: ElementType) -> Any:
    bits = int(word, 16)
    if not 0 <= bits < 1 << kind.bits:
        raise _unfitting(word, kind.name)
    return np.frombuffer(bits.to_bytes(kind.dtype.itemsize, "little"), kind.dtype)[0]


def _rounded(values: list[float], kind: ElementType) -> NDArray[Any]:
    if kind is F8E8M0FNU:
        # The format without a zero has its least number instead.
        values = [value or 2.0**-127 for value in values]
    return rounded(np.array(values, np.float64), kind)


def integer_of(value: Any) -> int:
    """The integer that the value of an attribute is.

    Raises
    ------
    TypeError
        if it is none.
    """
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{str(value)[:40]} is no integer") from None


# ------------------------------------------------- arrays of numbers


def numbers(text: str) -> tuple[Any, ...]:
    """The numbers of `array<i64: 1, 2>` or `array<i1: true>`."""
    kind, _, inside = text[text.index("<") + 1 : -1].partition(":")
    words = [w.strip() for w in inside.split(",")] if inside.strip() else []
    return tuple(_element(word, kind.strip()) for word in words)


def _element(word: str, kind: str) -> Any:
    if kind != "i1":
        return real(word, kind) if _FLOAT.fullmatch(kind) else integer(word, kind)
    if word not in ("true", "false"):
        raise HloError("HLO012", f"{word[:40]} is neither true nor false")
    return word == "true"


def dense(text: str, shape: Shape) -> NDArray[Any]:
    """The array of `dense<[[1, 2], [3, 4]]>`, `dense<0.5>` or `dense<"0x3F80...">`.

    Raises
    ------
    HloError
        HLO013 if the text is of no such form, or has other dimensions; HLO012 if a number does not
        fit the type.
    """
    inside = text[text.index("<") + 1 : -1].strip()
    kind = shape.element_type
    try:
        if inside.startswith('"'):
            return in_shape(of_bytes(bytes.fromhex(inside[3:-1]), kind, shape.size), shape)
        words = _WORD.sub(_as_json, inside.translate(_LISTS)) if inside else "[]"
        values = _of_lists(json.loads(words, parse_constant=_refused), kind)
        if not inside.startswith("[") or values.shape == shape.dims:
            return in_shape(values, shape)
    except (ValueError, OverflowError, TypeError, IndexError, RecursionError):
        pass
    raise HloError("HLO013", f"`dense<{inside[:40]}>` is no {shape}")


def in_shape(numbers: NDArray[Any], shape: Shape) -> NDArray[Any]:
    """The array of all its numbers, or of one that stands for all.

    Raises
    ------
    ValueError
        if they are of another count.
    """
    if numbers.size == 1:
        return np.broadcast_to(numbers.reshape(()), shape.dims)
    return numbers.reshape(shape.dims)


def dense_text(value: NDArray[Any]) -> str:
    """The text of an array of numbers, `dense<[1, 2]> : tensor<2xi64>`, which `dense` reads.

    Raises
    ------
    HloError
        HLO013 if it has other numbers than integers, truth values and the usual floats.
    """
    match value.dtype.kind:
        case "b":
            kind = "i1"
        case "i" | "u" | "f":
            kind = {"i": "i", "u": "ui", "f": "f"}[value.dtype.kind] + str(8 * value.itemsize)
        case _:
            raise HloError("HLO013", f"an array of {value.dtype} can't be written")
    # JSON writes floats with as many digits as tell them from all others.
    inside = json.dumps(value.tolist()) if value.size else ""
    sizes = "".join(f"{size}x" for size in value.shape)
    return f"dense<{inside}> : tensor<{sizes}{kind}>"


_LISTS = str.maketrans("()", "[]")
# Numbers whose bits are given, and words that JSON has, too.
_WORD = re.compile(r"-?0x[0-9A-Fa-f]+|-?\d+\.(?=[^\d]|$)")


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is JSON's")


def _as_json(match: re.Match[str]) -> str:
    word = match[0]
    return f'"{word}"' if "x" in word else f"{word}0"


def of_bytes(raw: bytes, kind: ElementType, size: int) -> NDArray[Any]:
    """The numbers with some bytes; one for all, or each its own.

    A truth value is a byte; older MLIR wrote it as a bit. The number of bytes tells which.
    """
    if kind is not PRED:
        return np.frombuffer(raw, kind.dtype)
    if len(raw) in (1, size):
        return np.frombuffer(raw, np.uint8) != 0
    if len(raw) != -(-size // 8):
        raise ValueError("neither bytes nor bits")
    return np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")[:size].astype(bool)


def _of_lists(nested: Any, kind: ElementType) -> NDArray[Any]:
    """The array of nested lists of numbers; words are hexadecimal."""
    if kind.is_complex:
        parts = _of_lists(nested, kind.real)
        if parts.size and parts.shape[-1:] != (2,):
            raise ValueError("a complex number has two parts")
        # By assignment: the sum `re + 1j * im` loses zeros' signs, and makes nan beside infinity.
        complexes = np.empty(parts.shape[:-1] if parts.size else parts.shape, kind.dtype)
        if parts.size:
            complexes.real, complexes.imag = parts[..., 0], parts[..., 1]
        return complexes
    array: NDArray[Any] = np.array(nested, object)
    values = _floats(array, kind) if kind.is_floating else _integers(array, kind)
    return values.reshape(array.shape)


def _integers(array: NDArray[Any], kind: ElementType) -> NDArray[Any]:
    name = "i1" if kind is PRED else f"{'u' if kind.kind == 'unsigned' else ''}i{kind.bits}"
    values = [
        integer(n, name) if isinstance(n, str) else _fitting(_expected(n, kind), name, str(n))
        for n in array.ravel()
    ]
    return np.array(values, np.uint64 if kind.kind == "unsigned" else np.int64).astype(kind.dtype)


def _expected(value: Any, kind: ElementType) -> int:
    if not isinstance(value, int) or (isinstance(value, bool) and kind is not PRED):
        raise HloError("HLO013", f"{json.dumps(value)[:40]} is no {kind}")
    return int(value)


def _floats(array: NDArray[Any], kind: ElementType) -> NDArray[Any]:
    flat = array.ravel()
    other = next((n for n in flat if not isinstance(n, float | str)), None)
    if other is not None:
        word = json.dumps(other)[:40]
        notes = [f"a float is `{word}.0`"] if isinstance(other, int) else []
        raise HloError("HLO013", f"{word} is no {kind}", notes=notes)
    values = _rounded([0.0 if isinstance(n, str) else n for n in flat], kind)
    for at, n in enumerate(flat):
        if isinstance(n, str):
            values[at] = _of_bits(n, kind)
    return values
