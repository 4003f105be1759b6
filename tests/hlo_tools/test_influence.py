"""What elements of a result come from is found by trying, and drawn."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import hlo
from hlo_tools.influence import Influence, Source, influence
from hlo_tools.opcode_pictures import opcode_picture


def found(text: str, *given: object) -> Influence:
    return influence(hlo.parse(text), [np.asarray(each) for each in given])


def test_a_transpose_only_moves() -> None:
    text = "ENTRY e { x = s32[2,3] parameter(0) ROOT y = s32[3,2] transpose(x), dimensions={1,0} }"
    what = found(text, np.arange(6, dtype=np.int32).reshape(2, 3))
    assert what.only_moves
    assert [source and source.element for source in what.moved] == [0, 3, 1, 4, 2, 5]


def test_padding_comes_from_the_value() -> None:
    text = """ENTRY e { x = s32[2] parameter(0) v = s32[] parameter(1)
    ROOT y = s32[4] pad(x, v), padding=1_0_1 }"""
    what = found(text, np.int32([5, 6]), np.int32(9))
    assert what.moved == (Source(1, 0), Source(0, 0), Source(1, 0), Source(0, 1))


def test_a_product_depends_on_a_row_and_a_column() -> None:
    text = """ENTRY e { x = f32[2,2] parameter(0) y = f32[2,2] parameter(1)
    ROOT z = f32[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"""
    what = found(text, np.float32([[1, 2], [3, 4]]), np.float32([[1, 2], [3, 4]]))
    assert not what.only_moves
    assert what.sources[1] == {Source(0, 0), Source(0, 1), Source(1, 1), Source(1, 3)}


def test_an_index_is_no_element_that_is_moved() -> None:
    text = """ENTRY e { x = s32[4] parameter(0) i = s32[] parameter(1)
    ROOT y = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2} }"""
    what = found(text, np.int32([10, 20, 30, 40]), np.int32(1))
    assert what.moved == (Source(0, 1), Source(0, 2))
    assert Source(1, 0) in what.sources[0]


@pytest.mark.parametrize("name", ["tanh", "log", "floor"])
def test_a_function_is_a_curve(name: str) -> None:
    picture = opcode_picture(name, None, [])
    assert picture is not None
    ET.fromstring(picture.svg)
    assert 'class="curve"' in picture.svg


@pytest.mark.parametrize("name", ["add", "convert", "copy"])
def test_what_says_nothing_is_not_drawn(name: str) -> None:
    module = hlo.parse("ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] copy(x) }")
    assert opcode_picture(name, module, [np.float32([1, 2])]) is None
