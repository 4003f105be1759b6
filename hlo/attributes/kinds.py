"""The values in Python that an attribute may have, for those who build instructions by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hlo.errors.error import did_you_mean
from hlo.types.values import ConvDims, PaddingDim, SliceDim, WindowDim

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.attributes.spec import AttributeSpec


class Kind(NamedTuple):
    """The values of one kind of attribute."""

    words: str
    holds: Callable[[Any], bool]


def wrong_value(spec: AttributeSpec, value: Any) -> str | None:
    """The reason why an attribute can't have a value, to end a sentence; None if it can.

    Of kinds that are rarely built by hand, every value is taken: what reads it will tell.
    """
    kind = KINDS.get(spec.kind)
    if kind is None or (not spec.required and value == spec.default) or kind.holds(value):
        return None
    return f"is {type(value).__name__} {value!r}, not {kind.words}"


def nearest_words(spec: AttributeSpec, wrong: str) -> Sequence[str]:
    """Hints for a word that is none of an attribute's."""
    return did_you_mean(wrong, spec.words) or (f"there are {', '.join(spec.words)}",)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_a(kind: type | tuple[type, ...]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


def _tuple_of(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, tuple) and all(map(holds, cast("Any", value)))


# By the rule of the grammar that reads the value.
KINDS = {
    "int": Kind("a whole number", _is_number),
    "ints": Kind("a tuple of whole numbers", _tuple_of(_is_number)),
    "bool": Kind("True or False", _is_a(bool)),
    "bools": Kind("a tuple of True and False", _tuple_of(_is_a(bool))),
    "float": Kind("a number", _is_a((int, float))),
    "word": Kind("a string", _is_a(str)),
    "string": Kind("a string", _is_a(str)),
    "precisions": Kind("a tuple of strings", _tuple_of(_is_a(str))),
    "dim_labels": Kind("a ConvDims", _is_a(ConvDims)),
    "window": Kind("a tuple of WindowDim", _tuple_of(_is_a(WindowDim))),
    "padding": Kind("a tuple of PaddingDim", _tuple_of(_is_a(PaddingDim))),
    "slice_ranges": Kind("a tuple of SliceDim", _tuple_of(_is_a(SliceDim))),
}
