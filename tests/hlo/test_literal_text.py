"""Literals read back to the bit; and the strategies that the tests draw from reach every corner."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies.values import arrays, literals, shapes

import hlo
from hlo.errors.error import Source
from hlo.read.by_grammar import GrammarReader
from hlo.read.literal_text import read_literal, read_shaped_literal
from hlo.read.value_text import read_shape
from hlo.types.element_type import ARRAY_TYPES, BF16, BUFFER, C64, F8E8M0FNU, F16, F32, ElementType
from hlo.types.literal import Literal, literal
from hlo.types.shape import Shape, array
from hlo.write.literal_print import print_literal, print_shaped_literal


@given(shapes)
def test_shapes_read_back(shape: Shape) -> None:
    # What numbers the elements of a long tuple is a comment, which is gone before shapes are read.
    assert read_shape(GrammarReader(Source(shape.text)).text, None) == shape
    bare = GrammarReader(Source(shape.text_without_layout)).text
    assert read_shape(bare, None).compatible(shape)


@given(literals())
def test_literals_read_back_to_the_bit(made: Literal) -> None:
    assert read_literal(made.shape, print_literal(made), None) == made


@given(literals())
def test_literals_with_their_shape_read_back_to_the_bit(made: Literal) -> None:
    assert read_shaped_literal(print_shaped_literal(made), None) == made


@pytest.mark.parametrize("element_type", ARRAY_TYPES, ids=str)
@given(data=st.data())
def test_literals_of_each_type_read_back_to_the_bit(
    element_type: ElementType, data: st.DataObject
) -> None:
    made = literal(data.draw(arrays(array(element_type, (5,)))))
    assert made.shape.element_type is element_type
    assert read_literal(made.shape, print_literal(made), None) == made


def test_every_number_of_a_small_float_reads_back() -> None:
    for element_type in (F16, BF16):
        every = np.arange(2**16, dtype=np.uint16).view(element_type.dtype)
        made = literal(every)
        assert read_literal(made.shape, print_literal(made), None) == made


def test_the_smallest_number_of_a_type_without_zero_reads_back() -> None:
    for bits in (0, 1, 2):
        made = literal(np.array([bits], np.uint8).view(F8E8M0FNU.dtype))
        assert read_literal(made.shape, print_literal(made), None) == made


CORNERS: dict[str, Any] = {
    "NaN": np.isnan,
    "NaN with a payload": lambda x: np.isnan(x) & (x.view(np.uint32) & 0x3FFFFF != 0),
    "negative NaN": lambda x: np.isnan(x) & np.signbit(x),
    "infinity": lambda x: np.isinf(x) & (x > 0),
    "-infinity": lambda x: np.isinf(x) & (x < 0),
    "0": lambda x: (x == 0) & ~np.signbit(x),
    "-0": lambda x: (x == 0) & np.signbit(x),
    "subnormal": lambda x: (x != 0) & (np.abs(x) < np.finfo(np.float32).tiny),
}


# What `draw` has drawn.
LITERALS: list[Literal] = []
FLOATS: list[Any] = []
SHAPES: list[Shape] = []


@settings(max_examples=300, derandomize=True, suppress_health_check=list(HealthCheck))
@given(literals(), arrays(array(F32, (3,))), shapes)
def draw(made: Literal, floats: Any, shape: Shape) -> None:
    LITERALS.append(made)
    FLOATS.append(floats)
    SHAPES.append(shape)


def test_everything_that_may_surprise_is_drawn() -> None:
    draw()
    for corner, holds in CORNERS.items():
        assert any(holds(floats).any() for floats in FLOATS), corner
    drawn = [leaf for made in LITERALS for _, leaf in made.shape.leaves()]
    assert {shape.size for shape in drawn} >= {0, 1, 2}
    # Each of them has its own test above.
    assert len({shape.element_type for shape in drawn}) > len(ARRAY_TYPES) // 2
    assert any(shape.is_dynamic for shape in SHAPES)
    assert any(shape.layout is not None and shape.layout.tiles for shape in SHAPES)
    assert any(element.is_tuple for shape in SHAPES for element in shape.elements)
    assert any(shape.element_type is BUFFER for shape in SHAPES)
    assert any(shape.is_array and shape != shape.with_default_layout() for shape in SHAPES)


def read(text: str) -> Literal:
    return read_shaped_literal(text, None)


def test_the_sign_of_zero_is_kept() -> None:
    # XLA's own parser reads the integer -0 and so loses the sign, though it prints -0.
    assert np.signbit(read("f32[] -0").value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("f8e4m3fn[] 1.0625000009313226", 1.125),
        ("f8e5m2[] 1.125000000931323", 1.25),
        ("f4e2m1fn[] 1.2500000009", 1.5),
        # By way of f32, where these are ties.
        ("f16[] 1.0004882812509095", 1),
        ("bf16[] 1.00390625000091", 1),
    ],
)
def test_small_floats_are_rounded_as_by_xla(text: str, value: float) -> None:
    assert read(text).value == value


def test_a_nan_in_one_part_of_a_complex_number_leaves_the_other_alone() -> None:
    # XLA's parser reads (nan, 1) as (nan, nan).
    assert read("c64[] (nan, 1)").value.imag == 1


def test_elided_literals_take_no_memory_and_compare_by_shape() -> None:
    shape = array(F32, (10**10,))
    made = read_literal(shape, "{...}", None)
    assert made.elided
    assert made == read_literal(shape, "{...}", None)
    assert hash(made) == hash(read_literal(shape, "{...}", None))
    assert made != read_literal(array(F32, (10**9,)), "{...}", None)
    assert made != made.counted_from(7)
    assert made.counted_from(7) == made.counted_from(7)


def test_numpy_values_become_literals() -> None:
    assert print_shaped_literal(literal(np.float32([1, 2.5]))) == "f32[2]{0} {1, 2.5}"
    assert print_literal(literal((np.int32(3), np.bool_(True)))) == "( 3, true )"
    assert literal(1, array(C64)).value == 1


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (np.array(["text"]), None),
        (np.zeros(3, np.float32), array(F32, (4,))),
        ((np.zeros(3, np.float32),), read_shape("(f32[3], f32[3])", None)),
    ],
)
def test_what_is_no_literal_is_refused(value: Any, shape: Shape | None) -> None:
    with pytest.raises(hlo.HloError, match=r".*") as caught:
        literal(value, shape)
    assert caught.value.code == "HLO011"


@pytest.mark.parametrize("element_type", ARRAY_TYPES, ids=str)
def test_long_literals_are_spelt_like_short_ones(element_type: ElementType) -> None:
    """Equal elements of long ones are spelt once: none may take another's word."""
    raw = np.random.default_rng(0).integers(0, 256, 600 * element_type.dtype.itemsize, np.uint8)
    if element_type.bits < 8:
        raw &= (1 << element_type.bits) - 1
    if element_type.name == "pred":
        raw &= 1
    few = raw.view(element_type.dtype)
    many = np.concatenate([few, few])
    spelt = print_literal(literal(few))
    assert print_literal(literal(many)) == "{" + spelt[1:-1] + ", " + spelt[1:-1] + "}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f32[2]{0} {1, 1_0}", "expects a number"),
        ("f32[2]{0} {1, +1}", "expects a number"),
        ("f32[2]{0} {1, 1-2}", "expects a number"),
        ("f32[2]{0} {1, infinity}", "expects a number"),
        ("f32[2]{0} {1, 1\xa02}", "blanks are spaces"),
        ("s32[2]{0} {1, 1_0}", "expects an integer"),
        ("s32[2]{0} {1, \u0661}", "expects an integer"),
        ("s32[2]{0} {1, 2, 3}", "3 elements are given"),
        ("s32[2,1]{1,0} {1, 2}", "braces do not match"),
    ],
)
def test_words_that_python_takes_for_numbers_are_refused(text: str, message: str) -> None:
    with pytest.raises(hlo.HloError, match=message):
        read(text)
