"""Constants: an array, or a tuple of literals, with its shape.

A literal compares by its bits, so two NaNs with the same payload are equal and the two zeros are
not. `hlo.read.literal_text` reads one from text, `hlo.write.literal_print` writes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.errors.error import HloError
from hlo.types.element_type import element_type_of
from hlo.types.shape import TOKEN_SHAPE, Shape, array, tuple_of
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Value = Any  # an array, None for a token, or a tuple of values


@dataclass(frozen=True, eq=False, slots=True)
class Literal:
    """A constant value.

    Attributes
    ----------
    shape : its element type and dimensions; an array shape's layout is only carried along.
    array : read-only, of the shape's dimensions and NumPy type; None for tuples and tokens.
    elements : of a tuple.
    elided : the text was `{...}`: the value is not known, and the array is all zeros.
    first : of an elided literal, the first of the numbers that XLA makes up for it. It counts on
        through a text, so that no two unknown values are taken for one.
    """

    shape: Shape
    array: NDArray[Any] | None = None
    elements: tuple[Literal, ...] = ()
    elided: bool = False
    first: int = 0

    @property
    def words(self) -> int:
        """The number of whole words of 32 bits that its elements fill."""
        own = self.array.nbytes // 4 if self.array is not None else 0
        return own + sum(element.words for element in self.elements)

    def counted_from(self, first: int) -> Literal:
        """The elided literal whose made-up numbers begin with this one."""
        elements: list[Literal] = []
        for element in self.elements:
            elements.append(element.counted_from(first + sum(e.words for e in elements)))
        return replace(self, first=first, elements=tuple(elements))

    @property
    def value(self) -> Value:
        """The NumPy array, the tuple of values, or None for a token."""
        if self.shape.is_tuple:
            return tuple(element.value for element in self.elements)
        return self.array

    def __eq__(self, other: object) -> bool:
        """Whether both have the same type, dimensions and bits, or are the same elided one."""
        if not isinstance(other, Literal) or not self.shape.compatible(other.shape):
            return False
        if self.elided or other.elided or self.array is None or other.array is None:
            same = (self.elided, self.first) == (other.elided, other.first)
            return same and self.elements == other.elements
        return self.array.tobytes() == other.array.tobytes()

    def __reduce__(self) -> tuple[Callable[..., Literal], tuple[Any, ...]]:
        """The fields, for pickle; without the zeros of an elided literal."""
        array = None if self.elided else self.array
        return _unpickled, (self.shape, array, self.elements, self.elided, self.first)

    def __hash__(self) -> int:
        """A hash of the bits; an elided literal may be too large to look at them."""
        if self.elided or self.array is None:
            return hash((self.shape.without_layout, self.first, self.elements))
        return hash((self.shape.without_layout, self.array.tobytes()))


def unknown(shape: Shape) -> NDArray[Any]:
    """One zero, repeated by a stride of 0: an elided constant takes no memory, however large."""
    return np.broadcast_to(np.zeros((), shape.element_type.dtype), shape.dims)


def _unpickled(shape: Shape, array: NDArray[Any] | None, *rest: Any) -> Literal:
    if array is not None:
        array.setflags(write=False)
    elif shape.is_array:
        array = unknown(shape)
    return Literal(shape, array, *rest)


def literal(value: Value, shape: Shape | None = None) -> Literal:
    """The literal of a NumPy array, a Python number with a shape, or a tuple of such.

    Raises
    ------
    HloError
        HLO011 if XLA has no such element type, or the value is not of the shape.
    """
    if isinstance(value, tuple):
        values = cast("tuple[Value, ...]", value)
        if shape is not None and len(values) != len(shape.elements):
            raise HloError("HLO011", f"a tuple of {counted(len(values), 'value')} is no {shape}")
        shapes = shape.elements if shape else (None,) * len(values)
        elements = tuple(literal(v, s) for v, s in zip(values, shapes, strict=True))
        return Literal(shape or tuple_of(*(e.shape for e in elements)), elements=elements)
    if value is None:
        return Literal(TOKEN_SHAPE)
    data = np.array(value, dtype=shape.element_type.dtype if shape else None)
    element_type = element_type_of(data.dtype)
    if element_type is None:
        raise HloError("HLO011", f"NumPy type {data.dtype} is no element type of XLA")
    if shape is not None and data.shape != shape.dims:
        raise HloError("HLO011", f"a value of shape {list(data.shape)} is no {shape}")
    data.setflags(write=False)
    return Literal(shape or array(element_type, data.shape), data)
