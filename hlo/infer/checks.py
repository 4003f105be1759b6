"""The checks of shape inference: kinds, element types, dimensions, signatures.

Two leniencies of XLA run through all of it. Floating-point types may be mixed, and the result then
has the higher precision. A size agrees with another if they are equal or one of them is unknown;
whether a size is a bound or exact is no difference.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, cast

import ml_dtypes

from hlo.errors.error import HloError
from hlo.types.element_type import TUPLE, ElementType
from hlo.types.shape import UNBOUNDED, Shape, array
from hlo.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hlo.instruction import Computation

KINDS = {
    "pred": "pred",
    "signed": "signed integer",
    "unsigned": "unsigned integer",
    "float": "floating-point",
    "complex": "complex",
}


def show(shape: Shape) -> str:
    """A shape as messages spell it."""
    return shape.text_without_layout


def expect_array(*shapes: Shape) -> None:
    """HLO025 unless every shape is an array."""
    for shape in shapes:
        if not shape.is_array:
            raise HloError("HLO025", f"takes an array, not {show(shape)}")


def expect_scalar(shape: Shape, noun: str) -> None:
    """HLO025 unless the shape is an array of no dimensions."""
    if not shape.is_array or shape.dims:
        raise HloError("HLO025", f"{noun} must be a scalar, not {show(shape)}")


def expect_token(shape: Shape) -> None:
    """HLO025 unless the shape is a token."""
    if not shape.is_token:
        raise HloError(
            "HLO025",
            f"takes a token, not {show(shape)}",
            notes=["after-all() makes a token out of nothing"],
        )


def expect_kinds(shape: Shape, *kinds: str) -> None:
    """HLO025 unless the shape is an array, HLO022 unless its elements are of these kinds."""
    expect_array(shape)
    if shape.element_type.kind not in kinds:
        allowed = " or ".join(KINDS[kind] for kind in kinds)
        raise HloError("HLO022", f"takes {allowed} elements, not {shape.element_type}")


def expect_rank(shape: Shape, rank: int, noun: str) -> None:
    """HLO028 unless the array has so many dimensions."""
    expect_array(shape)
    if shape.rank != rank:
        raise HloError("HLO028", f"{noun} must have {counted(rank, 'dimension')}: {show(shape)}")


def expect_lengths(shape: Shape, name: str, count: int) -> None:
    """HLO028 unless an attribute lists one entry a dimension."""
    if count != shape.rank:
        raise HloError("HLO028", f"{name} has {counted(count, 'entry')} for {show(shape)}")


def expect_dimensions(name: str, dims: Iterable[int], rank: int) -> None:
    """HLO026 if a dimension number is out of range, HLO027 if one is repeated."""
    seen: set[int] = set()
    for dim in dims:
        if not 0 <= dim < rank:
            raise HloError("HLO026", f"{name}: there is no dimension {dim} of {rank}")
        if dim in seen:
            raise HloError("HLO027", f"{name}: dimension {dim} is given twice")
        seen.add(dim)


def expect_sorted(name: str, dims: Sequence[int]) -> None:
    """HLO027 unless dimension numbers rise."""
    if list(dims) != sorted(dims):
        raise HloError("HLO027", f"{name} must rise: {{{','.join(map(str, dims))}}}")


def types_agree(a: Shape, b: Shape) -> bool:
    """Whether two arrays have the same element type, or both a floating-point one."""
    return a.element_type is b.element_type or (
        a.element_type.is_floating and b.element_type.is_floating
    )


def expect_same_type(a: Shape, b: Shape) -> None:
    """HLO023 unless two arrays may be mixed."""
    expect_array(a, b)
    if not types_agree(a, b):
        raise HloError(
            "HLO023",
            f"element types differ: {a.element_type} and {b.element_type}",
            notes=["HLO never converts by itself: write convert"],
        )


@cache
def _precision(element_type: ElementType) -> tuple[bool, int, int, int, bool]:
    """The rank of an element type: complex above real, then by range, precision, width, sign."""
    part, exponent, digits = element_type.real, -1, -1
    if part.is_floating:
        info: Any = cast("Any", ml_dtypes).finfo(part.dtype)
        exponent, digits = int(info.maxexp), int(info.nmant)
    return element_type.is_complex, exponent, digits, part.bits, part.kind == "signed"


def higher_type(*shapes: Shape) -> ElementType:
    """The element type of the highest precision, as XLA orders them."""
    first = shapes[0].element_type
    if all(shape.element_type is first for shape in shapes):
        return first
    return max((shape.element_type for shape in shapes), key=_precision)


def sizes_agree(m: int, n: int) -> bool:
    """Whether two dimensions can have the same size."""
    return m == n or UNBOUNDED in (m, n)


def dims_agree(a: Shape, b: Shape) -> bool:
    """Whether two arrays can have the same dimensions."""
    return a.dims == b.dims or (a.rank == b.rank and all(map(sizes_agree, a.dims, b.dims)))


def expect_same_dims(a: Shape, b: Shape) -> None:
    """HLO021 unless two arrays have the same dimensions."""
    expect_array(a, b)
    if not dims_agree(a, b):
        raise HloError(
            "HLO021", f"operand shapes differ: {show(a)} and {show(b)}", notes=_broadcast_note(a, b)
        )


def _broadcast_note(a: Shape, b: Shape) -> list[str]:
    """Say how the smaller array could be broadcast to the larger, if it could."""
    small, large = (a, b) if a.rank < b.rank else (b, a)
    note = "HLO never broadcasts by itself"
    dims: list[int] = []
    for size in reversed(small.dims):
        last = dims[-1] if dims else large.rank
        match = next((i for i in range(last - 1, -1, -1) if large.dims[i] == size), None)
        if match is None:
            return [note]
        dims.append(match)
    if small.rank == large.rank:
        return [note]
    numbers = ",".join(map(str, reversed(dims)))
    return [f"{note}: write {show(large)} broadcast(...), dimensions={{{numbers}}}"]


def compatible(a: Shape, b: Shape, *, precision: bool = True) -> bool:
    """Whether two shapes agree, whatever their layouts and whichever sizes are bounds.

    With `precision=False`, one floating-point type is as good as another.
    """
    if a is b or a.compatible(b):
        return True
    if a.is_array and b.is_array:
        same = a.element_type is b.element_type or (not precision and types_agree(a, b))
        return same and dims_agree(a, b)
    return (
        a.element_type is b.element_type
        and len(a.elements) == len(b.elements)
        and all(
            compatible(x, y, precision=precision)
            for x, y in zip(a.elements, b.elements, strict=True)
        )
    )


def dynamic_flags(shape: Shape) -> tuple[bool, ...]:
    """A flag for each dimension: whether its size is known at run time only."""
    return shape.dynamic or (False,) * shape.rank


def merge_dims(element_type: ElementType, first: Shape, *others: Shape) -> Shape:
    """One shape out of several that agree.

    An unknown size gives way to a known one or to a bound; a bound stays a bound.
    """
    if all(other.dims == first.dims and other.dynamic == first.dynamic for other in others):
        return first if first.element_type is element_type else first.with_type(element_type)
    dims: list[int] = []
    dynamic: list[bool] = []
    for i in range(first.rank):
        known = [s for s in (first, *others) if s.dims[i] != UNBOUNDED] or [first]
        dims.append(known[0].dims[i])
        dynamic.append(any(s.dynamic_at(i) for s in known))
    return array(element_type, tuple(dims), tuple(dynamic))


def scalar_of(shape: Shape) -> Shape:
    """A scalar of an array's element type."""
    return array(shape.element_type)


def tuple_or_one(shapes: Sequence[Shape]) -> Shape:
    """The shape itself if there is one, else the tuple of all."""
    return shapes[0] if len(shapes) == 1 else Shape(TUPLE, elements=tuple(shapes))


def expect_parameters(computation: Computation, count: int) -> tuple[Shape, ...]:
    """The shapes of a called computation's parameters; HLO040 unless there are so many."""
    parameters = computation.parameters
    if len(parameters) != count:
        raise HloError(
            "HLO040",
            f"{computation.name} must take {counted(count, 'parameter')}, "
            f"but takes {len(parameters)}",
        )
    return tuple(parameter.shape for parameter in parameters)


def expect_arguments(
    computation: Computation, arguments: Sequence[Shape], *, precision: bool = True
) -> None:
    """HLO040 unless a called computation's parameters have the shapes of the arguments."""
    parameters = expect_parameters(computation, len(arguments))
    for i, (parameter, argument) in enumerate(zip(parameters, arguments, strict=True)):
        if not compatible(parameter, argument, precision=precision):
            raise HloError(
                "HLO040",
                f"parameter {i} of {computation.name} is {show(parameter)}, "
                f"but gets {show(argument)}",
            )


def bad_value(name: str, value: object, wanted: str) -> NoReturn:
    """HLO043: an attribute's value makes no sense."""
    raise HloError("HLO043", f"{name}={value}: must be {wanted}")
