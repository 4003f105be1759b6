"""Shape inference: an example for each opcode, its dynamic dimensions, and what NumPy says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hlo
from hlo.build import Builder, instruction
from hlo.infer import infer, infers
from hlo.infer.checks import higher_type
from hlo.infer.elementwise import BINARY, UNARY
from hlo.types.element_type import ARRAY_TYPES, ELEMENT_TYPES, F32
from hlo.types.shape import TOKEN_SHAPE, UNBOUNDED, Layout, array, buffer_of, tuple_of
from hlo.types.values import PaddingDim, SliceDim, WindowDim


def test_every_opcode_has_a_rule() -> None:
    assert infers.gaps() == []


@pytest.mark.parametrize("opcode", [*UNARY, *BINARY])
def test_elementwise_opcodes_know_their_kinds(opcode: str) -> None:
    arity = 1 if opcode in UNARY else 2
    for element_type in ARRAY_TYPES:
        x = instruction("parameter", name="x", shape=array(element_type, (3,)), number=0)
        if element_type.kind in (UNARY | BINARY)[opcode]:
            assert instruction(opcode, [x] * arity, name="y").shape == x.shape
        else:
            with pytest.raises(hlo.HloError) as error:
                instruction(opcode, [x] * arity, name="y")
            assert error.value.code == "HLO022"
    for shape in (tuple_of(array(F32)), TOKEN_SHAPE, buffer_of(array(F32))):
        x = instruction("parameter", name="x", shape=shape, number=0)
        with pytest.raises(hlo.HloError) as error:
            instruction(opcode, [x] * arity, name="y")
        assert error.value.code == "HLO025"


dims = st.lists(st.integers(0, 5), max_size=4).map(tuple)


@given(dims, dims)
def test_elementwise_takes_equal_dimensions_only(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    builder = Builder()
    x, y = builder.parameter(array(F32, a)), builder.parameter(array(F32, b))
    if a == b:
        assert builder.add("add", x, y).shape.dims == np.add(np.zeros(a), np.zeros(b)).shape
    else:
        with pytest.raises(hlo.HloError, match="operand shapes differ"):
            builder.add("add", x, y)


@given(st.data(), dims)
def test_a_slice_has_the_elements_that_numpy_takes(data: st.DataObject, sizes) -> None:
    parts = []
    for size in sizes:
        start = data.draw(st.integers(0, size))
        parts.append(
            SliceDim(start, data.draw(st.integers(start, size)), data.draw(st.integers(1, 3)))
        )
    builder = Builder()
    made = builder.add("slice", builder.parameter(array(F32, sizes)), slice=tuple(parts))
    taken = np.zeros(sizes)[tuple(slice(p.start, p.limit, p.stride) for p in parts)]
    assert made.shape.dims == taken.shape


@given(st.data(), dims)
def test_a_transpose_permutes_as_numpy_does(data: st.DataObject, sizes) -> None:
    order = tuple(data.draw(st.permutations(range(len(sizes)))))
    builder = Builder()
    made = builder.add("transpose", builder.parameter(array(F32, sizes)), dimensions=order)
    assert made.shape.dims == np.zeros(sizes).transpose(order).shape


@given(st.integers(0, 5), st.integers(-6, 4), st.integers(-6, 4), st.integers(0, 3))
def test_a_pad_counts_elements(size: int, low: int, high: int, interior: int) -> None:
    spread = size + max(size - 1, 0) * interior
    builder = Builder()
    x, v = builder.parameter(array(F32, (size,))), builder.parameter(array(F32))
    padding = (PaddingDim(low, high, interior),)
    if low + spread + high < 0:
        with pytest.raises(hlo.HloError, match="elements"):
            builder.add("pad", x, v, padding=padding)
    else:
        assert builder.add("pad", x, v, padding=padding).shape.dims == (low + spread + high,)


@given(
    st.integers(0, 7),
    st.builds(
        WindowDim,
        size=st.integers(1, 4),
        stride=st.integers(1, 3),
        pad_low=st.integers(-3, 3),
        pad_high=st.integers(-3, 3),
        base_dilation=st.integers(1, 3),
        window_dilation=st.integers(1, 3),
    ),
)
def test_a_window_takes_the_places_that_it_fits_in(size: int, dim: WindowDim) -> None:
    extent = dim.pad_low + dim.pad_high + max(0, (size - 1) * dim.base_dilation + 1 if size else 0)
    reach = (dim.size - 1) * dim.window_dilation
    places = sum(1 for at in range(0, max(extent, 0), dim.stride) if at + reach < extent)
    assert dim.positions(size) == places


def test_the_higher_type_is_the_one_of_more_range_then_precision() -> None:
    def higher(a: str, b: str) -> str:
        return higher_type(array(ELEMENT_TYPES[a]), array(ELEMENT_TYPES[b])).name

    assert higher("f16", "bf16") == "bf16"
    assert higher("f32", "bf16") == "f32"
    assert higher("f32", "f64") == "f64"
    assert higher("f8e4m3fn", "f8e5m2") == "f8e5m2"
    assert higher("s4", "bf16") == "bf16"


@pytest.mark.parametrize("dims", [(1 << 62, 4), (0, 1 << 62, 4), (1 << 40, 1 << 40)])
def test_sizes_are_bounded_before_memory_is_taken(dims: tuple[int, ...]) -> None:
    with pytest.raises(hlo.HloError) as error:
        infer(instruction("parameter", name="x", shape=array(F32, dims), number=0))
    assert error.value.code == "HLO020"


def test_an_unknown_size_agrees_with_any() -> None:
    builder = Builder()
    x = builder.parameter(array(F32, (UNBOUNDED, 3), (True, False)))
    y = builder.parameter(array(F32, (4, 3)))
    assert builder.add("add", x, y).shape == array(F32, (4, 3))
    assert builder.add("reshape", x, shape=array(F32, (6,))).shape == array(F32, (6,))


def test_a_while_teaches_what_its_body_must_yield() -> None:
    text = "c { x = s32[] parameter(0) ROOT r = pred[] constant(true) }\n"
    text += "b { x = s32[] parameter(0) ROOT r = f32[] convert(x) }\n"
    text += "ENTRY e { z = s32[] constant(0) ROOT w = while(z), condition=c, body=b }"
    with pytest.raises(hlo.HloError) as error:
        hlo.parse(text)
    assert error.value.code == "HLO041"
    assert error.value.span is not None
    assert error.value.notes == ("what a loop's body yields is given to it again",)


def test_a_result_shaped_like_an_operand_is_laid_out_like_it() -> None:
    builder = Builder()
    shape = array(F32, (2, 3)).with_layout(Layout((0, 1)))
    x = builder.parameter(shape)
    made = builder.add("tuple", builder.add("negate", x), builder.add("add", x, x))
    assert made.shape == tuple_of(shape, shape)
    assert builder.add("get-tuple-element", made, index=1).shape == shape
    assert builder.add("dot", x, x).shape == array(F32, (2, 3, 2, 3))


def test_an_all_to_all_of_several_operands_yields_a_tuple() -> None:
    x = instruction("parameter", name="x", shape=array(F32, (4, 6)), number=0)
    y = instruction("parameter", name="y", shape=array(F32, (5,)), number=1)
    assert instruction("all-to-all", [x], name="a", dimensions=(1,)).shape == x.shape
    assert instruction("all-to-all", [x, x], name="a").shape == tuple_of(x.shape, x.shape)
    with pytest.raises(hlo.HloError, match="operand shapes differ"):
        instruction("all-to-all", [x, y], name="a")
