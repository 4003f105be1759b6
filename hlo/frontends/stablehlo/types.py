"""MLIR's types, and numbers of these types, as HLO's shapes and NumPy's arrays."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.errors.error import HloError, did_you_mean
from hlo.frontends.stablehlo.versions import split_types
from hlo.types.element_type import ELEMENT_TYPES, F8E8M0FNU, PRED, ElementType
from hlo.types.shape import OPAQUE_SHAPE, TOKEN_SHAPE, UNBOUNDED, Shape, array, buffer_of, tuple_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from hlo.errors.error import Span

_NAMED = {"i1": "pred", "index": "s64", "complex<f32>": "c64", "complex<f64>": "c128"}
_INTEGER = re.compile(r"(s|u|)i(\d+)")


FOREIGN = "!quant."  # the dialect of quantized types


def refuse_foreign(shapes: Iterable[Shape], span: Span | None) -> None:
    """Refuse quantized types.

    Raises
    ------
    HloError
        HLO013 if there is one.
    """
    for shape in shapes:
        name = shape.element_type.name
        if name.startswith(FOREIGN):
            notes = ["quantize in the program itself: `x * scale`"]
            raise HloError("HLO013", f"HLO has no element type `{name}`", span, notes)


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
    found = ELEMENT_TYPES.get(known)
    if found is None or not found.is_array:
        raise HloError("HLO013", f"HLO has no element type `{name}`")
    return found


def dialect_type(name: str, aliases: Mapping[str, Any]) -> Shape:
    """The shape of a type with a dialect's name, `!stablehlo.token`, or of an alias, `!vec`.

    Raises
    ------
    HloError
        HLO013 if HLO has no such type.
    """
    if name in aliases:
        return aliases[name]
    if name.startswith("!vhlo."):
        return _versioned(name)
    # The operation that makes a future tells its shape.
    start = name.partition("<")[0]
    if start in _NAMED_SHAPES:
        return _NAMED_SHAPES[start]
    if found := _BUFFER.fullmatch(name):
        return buffer_of(tensor(found[1], found[2]))
    raise HloError("HLO013", f"HLO has no type `{name}`", notes=did_you_mean(name, aliases))


def _versioned(name: str) -> Any:
    """The shape of a type of VHLO, `!vhlo.tensor_v1<4x!vhlo.f32_v1>`; of a scalar its name.

    The type of nothing, which stands for an attribute that is not given, is None.
    """
    found = _VERSIONED.fullmatch(name)
    if found is None:
        raise HloError("HLO013", f"HLO has no type `{name}`")
    kind, inside = found[1], found[2] or ""
    match kind:
        case "tensor":
            ranked = _RANKED.fullmatch(inside)
            if ranked is None:
                raise HloError("HLO013", f"HLO has no type `{name}`")
            sizes, element, bounds = ranked.groups()
            numbers = re.findall(r"-?\d+|\?", (bounds or "").partition("[")[2])
            limits = [int(n) if n.lstrip("-").isdigit() and int(n) >= 0 else "?" for n in numbers]
            return tensor(sizes, str(_versioned(element)), limits)
        case "tuple":
            parts = [_versioned(part) for part in split_types(inside) if part]
            if all(isinstance(part, Shape) for part in parts):
                return tuple_of(*parts)
            raise HloError("HLO013", f"HLO has no type `{name}`")
        case "complex":
            return f"complex<{_versioned(inside)}>"
        case _:
            return _VERSIONED_NAMES.get(kind, kind)


_VERSIONED_NAMES = {
    "token": TOKEN_SHAPE,
    "future": OPAQUE_SHAPE,
    "func": OPAQUE_SHAPE,
    "none": None,
    "bool": "i1",
}
_VERSIONED = re.compile(r"!vhlo\.(\w+?)_v\d+(?:<(.*)>)?", re.DOTALL)
_RANKED = re.compile(r"((?:\d+x|\?x)*)\s*(![^,]*?)\s*(?:,\s*(#.*))?", re.DOTALL)


def tensor(sizes: str, element: str, bounds: Sequence[Any] = ()) -> Shape:
    """The shape of `tensor<4x?xf32, #stablehlo.bounds<?, 8>>`: sizes are `4x?x`."""
    words = sizes.split("x")[:-1]
    if words == ["*"]:
        raise HloError("HLO013", "HLO has no arrays without a rank")
    dynamic = tuple(word == "?" for word in words)
    limits = [b if isinstance(b, int) else UNBOUNDED for b in bounds] or [UNBOUNDED] * len(words)
    dims = tuple(
        limit if word == "?" else int(word) for word, limit in zip(words, limits, strict=True)
    )
    return array(element_type(element), dims, dynamic)


def tensor_named(text: str) -> Shape:
    """The shape of `tensor<4xf32>`.

    Raises
    ------
    HloError
        HLO013 if there is no such type.
    """
    found = _TENSOR.fullmatch(text)
    if found is None:
        raise HloError("HLO013", f"HLO has no type `{text}`")
    return tensor(found[1], found[2])


_NAMED_SHAPES = {
    "!stablehlo.token": TOKEN_SHAPE,
    "!mhlo.token": TOKEN_SHAPE,
    "!stablehlo.future": OPAQUE_SHAPE,
    "!mhlo.async_bundle": OPAQUE_SHAPE,
}
_BUFFER = re.compile(r"memref<\s*((?:\d+x)*)\s*([\w<>]+)\s*>")
_TENSOR = re.compile(r"tensor<\s*((?:\d+x)*)\s*([\w<>]+)\s*>")


def dense(text: str, shape: Shape) -> NDArray[Any]:
    """The array of `dense<[[1, 2], [3, 4]]>`, `dense<0.5>` or `dense<"0x3F80...">`.

    Raises
    ------
    HloError
        HLO013 if the text is of no such form, or has another number of elements.
    """
    inside = text[text.index("<") + 1 : -1].strip()
    kind = shape.element_type
    try:
        if inside.startswith('"'):
            made = of_bytes(bytes.fromhex(inside[3:-1]), kind, shape.size)
        else:
            numbers = json.loads(_WORD.sub(_as_json, inside.translate(_LISTS)) if inside else "[]")
            made = _of_numbers(numbers, kind)
        return in_shape(made, shape)
    except (ValueError, OverflowError, TypeError, IndexError, RecursionError):
        raise HloError("HLO013", f"`dense<{inside[:40]}>` is no {shape}") from None


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
_WORD = re.compile(r"0x[0-9A-Fa-f]+|-?\d+\.(?=[^\d]|$)")


def _as_json(match: re.Match[str]) -> str:
    word = match[0]
    return f'"{word}"' if word.startswith("0x") else f"{word}0"


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


def _of_numbers(numbers: Any, kind: ElementType) -> NDArray[Any]:
    """The array of nested lists of numbers; words are the bits of floats."""
    if kind.is_complex:
        parts = _of_numbers(numbers, kind.real)
        if not parts.size or parts.shape[-1:] != (2,):
            return parts.astype(kind.dtype)
        # By assignment: the sum `re + 1j * im` loses zeros' signs, and makes nan beside infinity.
        made = np.empty(parts.shape[:-1], kind.dtype)
        made.real, made.imag = parts[..., 0], parts[..., 1]
        return made
    made: NDArray[Any] = np.array(numbers, object)
    flat = [_number(n, kind) for n in made.ravel()]
    with np.errstate(over="ignore"):
        return np.array(flat, kind.dtype).reshape(made.shape)


def _number(number: Any, kind: ElementType) -> Any:
    if isinstance(number, str):
        bits = int(number, 16)
        if kind.is_floating:
            width = kind.dtype.itemsize
            return np.frombuffer(bits.to_bytes(width, "little"), kind.dtype)[0]
        return np.frombuffer(bits.to_bytes(8, "little"), np.uint64)[0].astype(kind.dtype)
    if kind.is_integer and isinstance(number, int):
        low = -(1 << kind.bits - 1) if kind.kind == "signed" else 0
        if not low <= number < 1 << kind.bits:
            raise OverflowError(number)
        return np.int64(number - (1 << 64) if number >= 1 << 63 else number).astype(kind.dtype)
    # The format without a zero has its least number instead.
    return 2.0**-127 if kind is F8E8M0FNU and not number else number


def integers(text: str) -> tuple[Any, ...]:
    """The numbers of `array<i64: 1, 2>` or `array<i1: true>`."""
    kind, _, inside = text[text.index("<") + 1 : -1].partition(":")
    words = [w.strip() for w in inside.split(",")] if inside.strip() else []
    return tuple(w == "true" if w in ("true", "false") else integer(w, kind) for w in words)


def integer(word: str, kind: str) -> int:
    """The number of `4 : i32`, or one of `array<i32: 4, 0x5>`.

    Raises
    ------
    HloError
        HLO012 if it does not fit the type, HLO013 if there is no such type.
    """
    digits = kind.strip().lstrip("sui")
    if len(digits) > _LONGEST_WIDTH:
        raise HloError("HLO013", f"MLIR has no type `{kind}`")
    bits = int(digits) if digits.isdigit() else 64
    try:
        number = int(word, 16 if "x" in word else 10)
    except ValueError:  # Python reads no thousands of digits
        number = 1 << bits
    if not -(1 << bits - 1) <= number < 1 << bits:
        raise HloError("HLO012", f"{word[:40]} does not fit `{kind or 'i64'}`")
    return number


_LONGEST_WIDTH = len("16777215")  # the digits of MLIR's largest number of bits
