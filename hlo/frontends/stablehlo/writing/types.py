"""Shapes, numbers and strings of HLO as MLIR writes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError
from hlo.types.element_type import PRED, TOKEN, ElementType
from hlo.types.shape import UNBOUNDED, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

_NAMED = {"pred": "i1", "c64": "complex<f32>", "c128": "complex<f64>"}
_FLOAT = re.compile(r"f\d+e\d+m\d+")
_BARE = re.compile(r"[A-Za-z_][\w$.]*")
# Arrays with more elements are written as the bytes of these, as MLIR does.
MOST_WRITTEN_OUT = 100


def element_type_text(kind: ElementType) -> str:
    """The name of an element type: `i32`, `ui8`, `f8E4M3FN`, `complex<f32>`.

    Raises
    ------
    HloError
        HLO014 for the integers of one bit, whose name in MLIR is that of truth values.
    """
    if kind.is_integer:
        if kind.bits == 1:
            raise HloError("HLO014", f"StableHLO has no element type {kind.name}: `i1` is pred")
        return f"{'u' if kind.kind == 'unsigned' else ''}i{kind.bits}"
    if kind.name in _NAMED:
        return _NAMED[kind.name]
    return "f" + kind.name[1:].upper() if _FLOAT.match(kind.name) else kind.name


def type_text(shape: Shape) -> str:
    """The type of a value: `tensor<4x?xf32, #stablehlo.bounds<?, 8>>`, `!stablehlo.token`.

    Raises
    ------
    HloError
        HLO014 for opaque values and buffers.
    """
    if shape.is_tuple:
        return f"tuple<{', '.join(map(type_text, shape.elements))}>"
    if shape.element_type is TOKEN:
        return "!stablehlo.token"
    if not shape.is_array:
        raise HloError("HLO014", f"StableHLO has no type for {shape}")
    dynamic = [shape.dynamic_at(d) for d in range(shape.rank)]
    sizes = "".join(f"{'?' if d else n}x" for n, d in zip(shape.dims, dynamic, strict=True))
    bounds = ""
    if any(dynamic) and UNBOUNDED not in shape.dims:
        words = [str(n) if d else "?" for n, d in zip(shape.dims, dynamic, strict=True)]
        bounds = f", #stablehlo.bounds<{', '.join(words)}>"
    return f"tensor<{sizes}{element_type_text(shape.element_type)}{bounds}>"


def dense_text(value: NDArray[Any], kind: ElementType) -> str:
    """An array of numbers: `dense<[[1, 2], [3, 4]]>`, exact to the bit."""
    if not value.size:
        return "dense<>"
    flat = value.reshape(-1)
    if value.size > 1 and flat.tobytes() == flat[:1].tobytes() * flat.size:
        return f"dense<{_word(flat[0], kind)}>"
    whole_bytes = kind is not PRED and kind.bits % 8 == 0 and not kind.name.startswith("f6")
    if value.size > MOST_WRITTEN_OUT and whole_bytes:
        return f'dense<"0x{np.ascontiguousarray(value).tobytes().hex().upper()}">'
    words = [_word(number, kind) for number in flat]
    for size in reversed(value.shape):
        rows = range(0, len(words), size)
        words = [f"[{', '.join(words[at : at + size])}]" for at in rows]
    return f"dense<{words[0]}>"


def _word(number: Any, kind: ElementType) -> str:
    """One number; floats by all their digits, and NaN and infinities by their bits."""
    if kind.is_complex:
        return f"({_word(number.real, kind.real)}, {_word(number.imag, kind.real)})"
    if kind is PRED:
        return "true" if number else "false"
    if not kind.is_floating:
        return str(int(number))
    exact = float(number)
    if not np.isfinite(exact):
        width = number.dtype.itemsize
        bits = int.from_bytes(number.tobytes(), "little")
        return f"0x{bits:0{2 * width}X}"
    mantissa, e, exponent = repr(exact).partition("e")
    return (mantissa if "." in mantissa else mantissa + ".0") + e + exponent


def numbers(values: Iterable[int]) -> str:
    """A list of integers: `array<i64: 1, 2>`."""
    words = ", ".join(map(str, values))
    return f"array<i64: {words}>" if words else "array<i64>"


def flags(values: Iterable[bool]) -> str:
    """A list of truth values: `array<i1: true, false>`."""
    words = ", ".join(str(bool(value)).lower() for value in values)
    return f"array<i1: {words}>" if words else "array<i1>"


def matrix(rows: Sequence[Sequence[int]], columns: int = 0) -> str:
    """A matrix of integers, shorter rows filled with -1: `dense<[[0, 1]]> : tensor<1x2xi64>`."""
    width = max((len(row) for row in rows), default=columns)
    filled = ", ".join(f"[{', '.join(map(str, [*r, *[-1] * (width - len(r))]))}]" for r in rows)
    inside = f"[{filled}]" if rows and width else ""
    return f"dense<{inside}> : tensor<{len(rows)}x{width}xi64>"


def listed(values: Iterable[object]) -> str:
    """A list: `[1, 2]`."""
    return f"[{', '.join(map(str, values))}]"


def truth(value: object) -> str:
    """A truth value."""
    return "true" if value else "false"


def enumeration(name: str, word: str) -> str:
    """A word of an enumeration of StableHLO: `#stablehlo<fft_type RFFT>`."""
    return f"#stablehlo<{name} {word}>"


def string(text: str) -> str:
    """A string in quotes; bytes that are not printable ASCII are written in hexadecimal."""
    data = text.encode("utf-8", "surrogateescape")
    plain = (chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
    return f'"{"".join(plain)}"'


def symbol(name: str) -> str:
    """The name of a function: `@main`, `@"region-1"`."""
    bare = _BARE.fullmatch(name)
    return f"@{name}" if bare else f"@{string(name)}"


def dictionary(entries: dict[str, str]) -> str:
    """Attributes in braces; those whose value is "" are written without one."""
    parts = [
        f"{key if _BARE.fullmatch(key) else string(key)}{' = ' if text else ''}{text}"
        for key, text in entries.items()
    ]
    return f"{{{', '.join(parts)}}}"
