"""Shapes of every kind, and arrays and literals in which what usually goes wrong is common."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from hlo.types.element_type import ARRAY_TYPES, ElementType
from hlo.types.literal import Literal, literal
from hlo.types.shape import OPAQUE_SHAPE, TOKEN_SHAPE, Layout, Shape, array, buffer_of, tuple_of

element_types = st.sampled_from(ARRAY_TYPES)
sizes = st.sampled_from((0, 1, 1, 2, 2, 3, 4))


def dims(min_rank: int = 0, max_rank: int = 3) -> st.SearchStrategy[tuple[int, ...]]:
    """Dimensions in which 0 and 1 are common."""
    return st.lists(sizes, min_size=min_rank, max_size=max_rank).map(tuple)


def array_shapes(
    types: st.SearchStrategy[ElementType] = element_types,
) -> st.SearchStrategy[Shape]:
    """Array shapes in the default layout."""
    return st.builds(array, types, dims())


@st.composite
def layouts(draw: st.DrawFn, rank: int) -> Layout:
    """Any order of dimensions, and whatever else a layout may say."""
    return Layout(
        tuple(draw(st.permutations(range(rank)))),
        tiles=draw(st.sampled_from(((), ((8, 128),), ((8, 128), (2, 1)), ((-1,),)))),
        tail_padding=draw(st.sampled_from((1, 1, 1024))),
        element_bits=draw(st.sampled_from((0, 0, 4, 32))),
        memory_space=draw(st.sampled_from((0, 0, 1, 5))),
        splits=draw(st.sampled_from(((), ((1, (200, 300)),)))) if rank else (),
        dynamic_metadata_bytes=draw(st.sampled_from((0, 0, 8))),
    )


@st.composite
def laid_out_shapes(draw: st.DrawFn) -> Shape:
    """Array shapes with any layout; some dimensions dynamic."""
    shape = draw(array_shapes())
    dynamic = tuple(draw(st.booleans()) for _ in shape.dims)
    plain = array(shape.element_type, shape.dims, dynamic)
    return draw(st.just(plain) | layouts(shape.rank).map(plain.with_layout))


# Every shape that there is, tuples in tuples included.
shapes: st.SearchStrategy[Shape] = st.recursive(
    st.one_of(
        laid_out_shapes(),
        laid_out_shapes().map(buffer_of),
        st.sampled_from((TOKEN_SHAPE, OPAQUE_SHAPE)),
    ),
    lambda inner: st.lists(inner, max_size=7).map(lambda elements: tuple_of(*elements)),
    max_leaves=12,
)

_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.0, 3.0, np.inf, -np.inf, np.nan, 0.1, 1e-45, 6e4)


def _float_bits(element_type: ElementType) -> int:
    # XLA stores the 6-bit types in bytes.
    return int(element_type.name[1]) if element_type.name[:2] in ("f4", "f6") else element_type.bits


def _floats(element_type: ElementType, shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    """Numbers by value, and by their bits: NaNs with payloads and subnormals among them."""
    dtype = element_type.dtype
    unsigned = np.dtype(f"u{dtype.itemsize}")
    width = _float_bits(element_type)
    with np.errstate(all="ignore"):
        known = [int(np.array(x).astype(dtype).view(unsigned)) for x in _FLOATS]
    # Their neighbours too: NaNs with a payload, the largest and smallest numbers, other signs.
    known += [code ^ 1 for code in known] + [code ^ 1 << (width - 1) for code in known]
    # XLA prints the least number of this type, 2**-127, as 5.9e-39, but reads that as 2**-126.
    low = 1 if element_type.name == "f8e8m0fnu" else 0
    codes = st.sampled_from(known) | st.integers(low, 2**width - 1) | st.integers(low, 3)
    codes = codes.map(lambda code: max(code, low))
    return _arrays(codes, shape).map(lambda codes: np.array(codes, unsigned).view(dtype))


def _integers(element_type: ElementType, shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    low = -(2 ** (element_type.bits - 1)) if element_type.kind == "signed" else 0
    high = low + 2**element_type.bits - 1
    numbers = st.sampled_from((low, high, 0, min(1, high))) | st.integers(low, high)
    wide = np.int64 if low else np.uint64
    return _arrays(numbers, shape).map(
        lambda numbers: np.array(numbers, wide).astype(element_type.dtype)
    )


def _arrays(numbers: st.SearchStrategy[int], shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    size = int(np.prod(shape))
    lists = st.lists(numbers, min_size=size, max_size=size)
    return lists.map(lambda row: np.array(row, object).reshape(shape))


def arrays(shape: Shape) -> st.SearchStrategy[Any]:
    """Arrays of a shape, of any values whatever."""
    element_type = shape.element_type
    if element_type.kind == "pred":
        return _arrays(st.integers(0, 1), shape.dims).map(lambda bits: bits.astype(np.bool_))
    if element_type.is_integer:
        return _integers(element_type, shape.dims)
    if element_type.is_complex:
        parts = _floats(element_type.real, (*shape.dims, 2))
        return parts.map(lambda pair: pair.view(element_type.dtype).reshape(shape.dims))
    return _floats(element_type, shape.dims)


def values(shape: Shape) -> st.SearchStrategy[Any]:
    """Arguments of a shape: arrays, tuples of them, None for a token."""
    if shape.is_tuple:
        return st.tuples(*map(values, shape.elements))
    return arrays(shape) if shape.is_array else st.none()


@st.composite
def literals(draw: st.DrawFn, types: st.SearchStrategy[ElementType] = element_types) -> Literal:
    """Literals of arrays, and of tuples of them."""
    some = array_shapes(types)
    shape = draw(some | st.lists(some, max_size=3).map(lambda elements: tuple_of(*elements)))
    return literal(draw(values(shape)), shape)
