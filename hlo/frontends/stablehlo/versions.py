"""VHLO, the versions of StableHLO that are promised to stay readable, as StableHLO.

Programs are kept in VHLO: `#vhlo.integer_v1<1 : i64>` is `1 : i64`, and `vhlo.gather_v2` is
`stablehlo.gather`, with numbers of dimensions that are attributes of their own.

Source: `stablehlo/transforms/VhloLegalizeToStablehlo.cpp` in openxla/stablehlo.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hlo.attributes.calls import API_VERSIONS
from hlo.errors.error import HloError
from hlo.frontends.stablehlo.operation import Operation, Tagged

if TYPE_CHECKING:
    from collections.abc import Sequence

DIALECT = "vhlo."
_VERSION = re.compile(r"_v\d+$")
_OF_FUNC = ("call", "return", "func")
_DIMENSIONS = {
    "gather": "dimension_numbers",
    "dynamic_gather": "dimension_numbers",
    "scatter": "scatter_dimension_numbers",
    "dot_general": "dot_dimension_numbers",
    "convolution": "dimension_numbers",
    "dynamic_conv": "dimension_numbers",
}


def plain_attribute(name: str, words: Sequence[Any], fields: dict[str, Any]) -> Any:
    """The attribute of MLIR or StableHLO that one of VHLO stands for.

    Parameters
    ----------
    name : with its dialect, such as "vhlo.integer_v1"; "vhlo" alone for enumerations.
    words, fields : as of `Tagged`.
    """
    if name == "vhlo":
        kind, value = (str(word) for word in words)
        return API_VERSIONS.index(value) + 1 if kind.startswith("api_version") else value
    kind = _VERSION.sub("", name.removeprefix(DIALECT))
    match kind:
        case "array" | "string" | "integer" | "float" | "tensor" | "type" | "dict" if words:
            return words[0]
        case "bool":
            return str(words[0]) == "true"
        case _:
            return Tagged(f"stablehlo.{kind}", tuple(words), fields)


def plain_operation(op: Operation) -> Operation:
    """The operation of StableHLO that one of VHLO stands for."""
    word = _VERSION.sub("", op.name.removeprefix(DIALECT))
    dialect = "func" if word in _OF_FUNC else "stablehlo"
    attributes = {key: value for key, value in op.attributes.items() if value is not None}
    if word in _DIMENSIONS:
        attributes.setdefault(_DIMENSIONS[word], Tagged("", (), attributes))
    if word == "dot_general" and attributes.get("accumulation_type") is not None:
        attributes["algorithm"] = Tagged("", (), attributes)
    if "channel_id" in attributes:
        attributes["channel_handle"] = Tagged("", (), {"handle": attributes["channel_id"]})
    return replace(op, name=f"{dialect}.{word}", attributes=attributes)


def split_types(text: str) -> list[str]:
    """The parts of a type's brackets, between commas that are in no others."""
    parts, depth, start = list[str](), 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "<([") - (sign in ">)]")
        if depth < 0:
            raise HloError("HLO012", f"`{text}` closes more brackets than it opens")
        if sign == "," and not depth:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]
