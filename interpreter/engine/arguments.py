"""Check that the arguments of a module fit its parameters.

Nothing is converted silently, but a Python number or list becomes an array of the parameter's
type where that loses nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hlo.errors.error import HloError
from hlo.sharded import shards_of
from hlo.types.element_type import element_type_of
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.errors.error import Span
    from hlo.instruction import Computation, Instruction
    from hlo.types.shape import Shape
    from interpreter.table import Value

# Which Python numbers, by NumPy's letter, each kind of element type takes.
_TAKES = {
    "pred": "b", "signed": "iu", "unsigned": "iu", "float": "iuf", "complex": "iufc", "none": ""
}  # fmt: skip


def checked_arguments(entry: Computation, arguments: Sequence[Any]) -> list[Value]:
    """The arguments as the entry's parameters want them.

    Raises
    ------
    HloError
        HLO110 if there are too many or too few, HLO111 and HLO112 as `checked`.
    """
    parameters = entry.parameters
    if len(parameters) != len(arguments):
        wanted = ", ".join(f"%{p.name}: {p.shape.text_without_layout}" for p in parameters)
        raise HloError(
            "HLO110",
            f"{counted(len(arguments), 'argument')} for {counted(len(parameters), 'parameter')}",
            entry.span,
            [f"the parameters are {wanted}" if wanted else "there are no parameters"],
        )
    return [checked_argument(entry, i, argument) for i, argument in enumerate(arguments)]


def checked_argument(entry: Computation, number: int, argument: Any) -> Value:
    """One of the arguments as the entry's parameter of that number wants it.

    Raises
    ------
    HloError
        HLO111 and HLO112 as `checked`.
    """
    parameter = entry.parameters[number]
    name = f"argument {number}, %{parameter.name}"
    try:
        return checked(argument, parameter.shape, name, parameter.span)
    except HloError as error:
        note = _how_to_cut(argument, parameter)
        raise error.noting(note) if note else error from None


def _how_to_cut(argument: Any, parameter: Instruction) -> str:
    """The hint for a whole array where the module takes one device's part; "" for others."""
    shape, sharding = parameter.shape, parameter.annotations.sharding
    dims = getattr(argument, "shape", ())
    if sharding is None or not shape.is_array or len(dims) != shape.rank:
        return ""
    parts = shards_of(sharding, shape.rank)
    if parts is None or parts.is_whole:
        return ""
    whole = tuple(n * count for n, count in zip(shape.dims, parts.counts, strict=True))
    if whole != dims:
        return ""
    counts = " x ".join(map(str, parts.counts))
    return (
        f"the module is what one device runs: {list(whole)} is cut into {counts} parts; give each "
        "device its own (in an .npz, in0_d0 is that of device 0)"
    )


def checked(argument: Any, shape: Shape, name: str, span: Span | None = None) -> Value:
    """An argument as a value of a shape: an array, a tuple of values, or None for a token.

    Raises
    ------
    HloError
        HLO111 if its dimensions are others, HLO112 if its element type is.
    """
    if shape.is_tuple:
        values = cast("Sequence[Any]", argument) if isinstance(argument, tuple | list) else None
        if values is None or len(values) != len(shape.elements):
            count = "no tuple" if values is None else counted(len(values), "element")
            message = f"{name}: {count} instead of a tuple of {len(shape.elements)}"
            raise HloError("HLO111", message, span)
        pairs = zip(values, shape.elements, strict=True)
        return tuple(checked(a, s, f"{name}, element {i}", span) for i, (a, s) in enumerate(pairs))
    if not shape.is_array:
        return None
    array = _as_array(argument, shape, name, span)
    if not _fits(array.shape, shape):
        message = f"{name}: {list(array.shape)} instead of {shape.text_without_layout}"
        raise HloError("HLO111", message, span)
    return array


def _as_array(argument: Any, shape: Shape, name: str, span: Span | None) -> np.ndarray[Any, Any]:
    element_type = shape.element_type
    array = np.asarray(argument)
    if array.dtype == element_type.dtype:
        return array
    is_python = isinstance(argument, bool | int | float | complex | list | tuple)
    if is_python and array.dtype.kind in _TAKES[element_type.kind]:
        converted = array.astype(element_type.dtype)
        # Everybody means a Python float to be rounded to f32; nobody means 300 to wrap to s8.
        if not element_type.is_integer or (converted.astype(object) == array.astype(object)).all():
            return converted
    if array.dtype == object:
        message = f"{name}: {type(argument).__name__} instead of {shape.text_without_layout}"
        raise HloError("HLO112", message, span)
    own = element_type_of(array.dtype)
    raise HloError(
        "HLO112",
        f"{name}: {own.name if own else array.dtype} instead of {element_type.name}",
        span,
        [f"convert it: `x.astype({element_type.dtype.name!r})`"] if not is_python else (),
    )


def _fits(dims: tuple[int, ...], shape: Shape) -> bool:
    """Whether sizes are the shape's; a dynamic dimension may be smaller than its bound."""
    return len(dims) == shape.rank and all(
        n == bound or (shape.dynamic_at(i) and (bound < 0 or n <= bound))
        for i, (n, bound) in enumerate(zip(dims, shape.dims, strict=True))
    )
