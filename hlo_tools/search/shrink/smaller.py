"""Cases of smaller shapes and of common element types."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.types.element_type import ELEMENT_TYPES, F32, S32, ElementType
from hlo.types.shape import Shape, row_major
from hlo_tools.generate.resizing import Change, cut, reshaped
from hlo_tools.search.shrink.attributes import cuts, squeezes
from hlo_tools.search.shrink.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    # An array's elements in another shape.
    Cut = Callable[[Any, Shape], Any]

Value = Any  # an array, None for a token, or a tuple of values

COMPLEX = ELEMENT_TYPES["c64"]


def smaller(case: Case) -> Iterator[Case]:
    """Cases over smaller or plainer arrays, those that change most first."""
    instructions = list(case.module.instructions())
    shapes = list(dict.fromkeys(s for i in instructions for _, s in i.shape.leaves() if s.is_array))
    edits = [(change, None) for change in changes(shapes)]
    for change, attrs in [*edits, *squeezes(instructions), *cuts(instructions)]:
        try:
            module = reshaped(case.module, change, attrs)
        except Exception:
            # Inference expects sound instructions: of others it may raise anything.
            continue
        yield Case(module, refitted(case, module, cut))
        if case.arguments:
            yield Case(module, refitted(case, module, cut_from_the_end))


def changes(shapes: list[Shape]) -> Iterator[Change]:
    """The changes of shapes, wherever they occur."""
    yield lambda shape: replace(shape, layout=row_major(shape.rank))
    ranks = sorted({s.dims for s in shapes if s.dims}, key=len, reverse=True)
    for size in sorted({n for s in shapes for n in s.dims if n > 1}, reverse=True):
        for less in sorted({1, 2, size // 2, size - 1} - {size}):
            yield resized(size, less)
    for dims in ranks:
        for axis, size in enumerate(dims):
            for less in sorted({1, size - 1} - {size, 0, -1}):
                yield with_size(dims, axis, less)
    for old in dict.fromkeys(s.element_type for s in shapes):
        for plain in plainer_types(old):
            yield retyped(old, plain)


def plainer_types(old: ElementType) -> list[ElementType]:
    """Element types to read instead of another one."""
    plain = {"float": [F32], "complex": [F32, COMPLEX], "pred": []}.get(old.kind, [S32])
    return [new for new in plain if new is not old]


def resized(size: int, less: int) -> Change:
    """Make every dimension of a size smaller."""

    def change(shape: Shape) -> Shape:
        return replace(shape, dims=tuple(less if n == size else n for n in shape.dims))

    return change


def with_size(dims: tuple[int, ...], axis: int, less: int) -> Change:
    """Make one dimension of all arrays of these dimensions smaller."""
    left = (*dims[:axis], less, *dims[axis + 1 :])
    return lambda shape: replace(shape, dims=left) if shape.dims == dims else shape


def retyped(old: ElementType, new: ElementType) -> Change:
    """Another element type in the place of one."""
    return lambda shape: shape.with_type(new) if shape.element_type is old else shape


def refitted(case: Case, module: Any, cut: Cut) -> tuple[Value, ...] | None:
    """The arguments in the shapes that the parameters have now."""
    if case.arguments is None:
        return None
    shapes = [p.shape for p in module.entry.parameters]
    return tuple(fit(a, s, cut) for a, s in zip(case.arguments, shapes, strict=True))


def fit(value: Value, shape: Shape, cut: Cut) -> Value:
    """A value in another shape."""
    if isinstance(value, tuple):
        pairs = zip(cast("tuple[Value, ...]", value), shape.elements, strict=True)
        return tuple(fit(element, value_part, cut) for element, value_part in pairs)
    return None if value is None else cut(np.asarray(value), shape)


def cut_from_the_end(array: Any, shape: Shape) -> Any:
    """The last elements of an array."""
    return np.flip(cut(np.flip(array), shape))
