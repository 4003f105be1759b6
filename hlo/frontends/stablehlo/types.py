"""MLIR's types as HLO's shapes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hlo.errors.error import HloError, did_you_mean
from hlo.frontends.stablehlo.numbers import FOREIGN, element_type, integer
from hlo.frontends.stablehlo.versions import split_types
from hlo.types.shape import OPAQUE_SHAPE, TOKEN_SHAPE, UNBOUNDED, Shape, array, buffer_of, tuple_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hlo.errors.error import Span


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
    if match := _BUFFER.fullmatch(name):
        return buffer_of(tensor(match[1], match[2]))
    raise HloError("HLO013", f"HLO has no type `{name}`", notes=did_you_mean(name, aliases))


def _versioned(name: str) -> Any:
    """The shape of a type of VHLO, `!vhlo.tensor_v1<4x!vhlo.f32_v1>`; of a scalar its name.

    The type of nothing, which stands for an attribute that is not given, is None.
    """
    match = _VERSIONED.fullmatch(name)
    if match is None:
        raise HloError("HLO013", f"HLO has no type `{name}`")
    kind, inside = match[1], match[2] or ""
    match kind:
        case "tensor":
            ranked = _RANKED.fullmatch(inside)
            if ranked is None:
                raise HloError("HLO013", f"HLO has no type `{name}`")
            sizes, element, bounds = ranked.groups()
            numbers = re.findall(r"-?\d+|\?", (bounds or "").partition("[")[2])
            limits = ["?" if n == "?" or integer(n) < 0 else integer(n) for n in numbers]
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
        limit if word == "?" else integer(word, "index")
        for word, limit in zip(words, limits, strict=True)
    )
    return array(element_type(element), dims, dynamic)


def tensor_named(text: str) -> Shape:
    """The shape of `tensor<4xf32>`.

    Raises
    ------
    HloError
        HLO013 if there is no such type.
    """
    match = _TENSOR.fullmatch(text)
    if match is None:
        raise HloError("HLO013", f"HLO has no type `{text}`")
    return tensor(match[1], match[2])


_NAMED_SHAPES = {
    "!stablehlo.token": TOKEN_SHAPE,
    "!mhlo.token": TOKEN_SHAPE,
    "!stablehlo.future": OPAQUE_SHAPE,
    "!mhlo.async_bundle": OPAQUE_SHAPE,
}
_BUFFER = re.compile(r"memref<\s*((?:\d+x)*)\s*([\w<>]+)\s*>")
_TENSOR = re.compile(r"tensor<\s*((?:\d+x)*)\s*([\w<>]+)\s*>")
