"""The block at the end of an MLIR text that holds large constants by name.

    {-#
      dialect_resources: {
        builtin: {
          weights: "0x040000000000803F"
        }
      }
    #-}

The first four bytes say to which multiple of bytes the others are to be aligned.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hlo.errors.error import HloError, did_you_mean
from hlo.frontends.stablehlo.numbers import in_shape, of_bytes
from hlo.types.literal import Literal, literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo.types.shape import Shape

_BLOCK = re.compile(r"^\s*\{-#.*?#-\}", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r'(?P<name>[\w$.-]+|"[^"\n]*")\s*:\s*"0x(?P<bytes>[0-9A-Fa-f]*)"')
_ALIGNMENT = 4  # bytes
# What MLIR writes for a name if it is asked to leave out large constants.
_ELIDED = "__elided__"


class Resource(NamedTuple):
    """A constant by name: `dense_resource<weights> : tensor<4xf32>`."""

    name: str
    shape: Shape


def resources_of(text: str) -> dict[str, str]:
    """The bytes of a text's constants by name, in hexadecimal digits."""
    return {
        match["name"].strip('"'): match["bytes"]
        for block in _BLOCK.findall(text)
        for match in _ENTRY.finditer(block)
    }


def without_resources(text: str) -> str:
    """The text with blanks in the place of its resources."""
    return (
        _BLOCK.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text) if "{-#" in text else text
    )


def literal_of(resource: Resource, resources: Mapping[str, str]) -> Literal:
    """The constant; an elided one, whose numbers are made up, if the text leaves it out.

    Raises
    ------
    HloError
        HLO013 if the text has none of its name, or one of another size.
    """
    shape = resource.shape
    if resource.name == _ELIDED:
        zero = np.zeros((), shape.element_type.dtype)
        return Literal(shape, np.broadcast_to(zero, shape.dims), elided=shape.size > 0)
    digits = resources.get(resource.name)
    if digits is None:
        notes = did_you_mean(resource.name, resources) or [
            "constants by name are in a block `{-# dialect_resources: ... #-}` after the module"
        ]
        raise HloError("HLO013", f"the text has no resource `{resource.name}`", notes=notes)
    try:
        numbers = of_bytes(bytes.fromhex(digits)[_ALIGNMENT:], shape.element_type, shape.size)
        array = in_shape(numbers, shape)
    except ValueError:
        message = f"the resource `{resource.name}` is no {shape}"
        raise HloError("HLO013", message) from None
    return literal(array, shape)
