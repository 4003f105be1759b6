"""Reads the commonest values in the form in which XLA prints them, by regular expressions.

The grammar reads every form of every value, at some 5 us a token. Half of the distinct values of a
dump are shapes, and the tuple that a loop carries has hundreds of them; so the usual forms of a few
kinds are read here, fifty times faster. What is not of the usual form, or means nothing, is left to
the grammar.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hlo.attributes.annotations import Metadata
from hlo.read.fast.lines import METADATA
from hlo.types.element_type import ELEMENT_TYPES
from hlo.types.shape import Layout, Shape, row_major, tuple_of
from hlo.types.values import ComputationLayout, SliceDim

if TYPE_CHECKING:
    from collections.abc import Callable

# Values read from a text are kept: a dump repeats its shapes and attributes all the time. All of
# them are immutable, so that modules may share them. A memo with this many entries is emptied.
MEMO = 100_000
# Shapes by their text; the readers of plain lines look into it themselves.
SHAPES: dict[str, Shape] = {}
_CANONICAL = re.compile(rf"\{{{METADATA}\}}", re.ASCII)
_INT = r"\d{1,18}"
_INTS = rf"(?:{_INT}(?:,{_INT})*)?"
_ONE_INT = re.compile(_INT, re.ASCII)
_BRACED_INTS = re.compile(rf"\{{{_INTS}\}}", re.ASCII)
_ARRAY = re.compile(rf"([a-z]\w*)\[({_INTS})\](?:\{{({_INTS})\}})?", re.ASCII)
_ELEMENT = re.compile(rf"\s*({_ARRAY.pattern})(?:,|\Z)", re.ASCII)
_RANGE = rf"\[{_INT}:{_INT}(?::{_INT})?\]"
_RANGES = re.compile(rf"\{{{_RANGE}(?:, {_RANGE})*\}}", re.ASCII)


def usual_int(text: str) -> int | None:
    """`3`."""
    return int(text) if _ONE_INT.fullmatch(text) else None


def usual_ints(text: str) -> tuple[int, ...] | None:
    """`{0,1}`."""
    return _numbers(text[1:-1]) if _BRACED_INTS.fullmatch(text) else None


def usual_bool(text: str) -> bool | None:
    """`true`, `false`."""
    return {"true": True, "false": False}.get(text)


def usual_slice_ranges(text: str) -> tuple[SliceDim, ...] | None:
    """`{[0:8], [0:8:2]}`."""
    if not _RANGES.fullmatch(text):
        return None
    return tuple(SliceDim(*map(int, part.split(":"))) for part in text[2:-2].split("], ["))


def usual_shape(text: str) -> Shape | None:
    """`f32[2,3]{1,0}`, `(f32[], s32[2]{0})`: arrays without tiles and the like, tuples of them."""
    if not text.startswith("("):
        return _array(text)
    elements: list[Shape] = []
    at, end = 1, len(text) - 1
    while at < end:
        match = _ELEMENT.match(text, at, end)
        shape = _array(match[1]) if match else None
        if match is None or shape is None:
            return None
        elements.append(shape)
        at = match.end()
    return None if text[at - 1] == "," else tuple_of(*elements)


def usual_computation_layout(text: str) -> ComputationLayout | None:
    """`{(f32[2]{0}, s32[])->f32[2]{0}}`."""
    parameters, arrow, result = text[1:-1].partition("->")
    if not arrow or not parameters.startswith("("):
        return None
    taken, left = usual_shape(parameters), usual_shape(result)
    return ComputationLayout(taken.elements, left) if taken and left else None


def usual_metadata(text: str) -> Metadata | None:
    """`{op_type="a" op_name="b"}`, with its keys in XLA's order."""
    return Metadata(text[1:-1]) if _CANONICAL.fullmatch(text) else None


@lru_cache(10_000)
def _array(text: str) -> Shape | None:
    match = _ARRAY.fullmatch(text)
    element_type = ELEMENT_TYPES.get(match[1]) if match else None
    if match is None or element_type is None or not element_type.is_array:
        return None
    dims = _numbers(match[2])
    layout = row_major(len(dims))
    if match[3] is not None:
        order = _numbers(match[3])
        if sorted(order) != list(range(len(dims))):
            return None
        layout = Layout(order)
    return Shape(element_type, dims, layout)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(","))) if text else ()


USUAL: dict[str, Callable[[str], Any]] = {
    "int": usual_int,
    "ints": usual_ints,
    "bool": usual_bool,
    "slice_ranges": usual_slice_ranges,
    "shape": usual_shape,
    "computation_layout": usual_computation_layout,
    "metadata": usual_metadata,
}


def usual_value(kind: str, text: str) -> Any:
    """The value that a text spells, if its form is usual; else None."""
    if kind != "shape":
        return USUAL[kind](text) if kind in USUAL else None
    shape = SHAPES.get(text)
    if shape is None and (shape := usual_shape(text)) is not None:
        if len(SHAPES) > MEMO:
            SHAPES.clear()
        SHAPES[text] = shape
    return shape
