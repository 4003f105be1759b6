"""What elements of a result come from is found by trying, and drawn."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import hlo
from hlo_tools.drawing.influence import ArgumentElement, Influence, influence
from hlo_tools.drawing.opcode_examples import example_of
from hlo_tools.drawing.opcode_pictures import opcode_picture
from interpreter import evaluate


def found(text: str, *given: object) -> Influence:
    module = hlo.parse(text)
    arguments = [np.asarray(each) for each in given]
    return influence(lambda other: evaluate(module, *other), arguments)


def test_a_transpose_only_moves() -> None:
    text = "ENTRY e { x = s32[2,3] parameter(0) ROOT y = s32[3,2] transpose(x), dimensions={1,0} }"
    what = found(text, np.arange(6, dtype=np.int32).reshape(2, 3))
    assert what.only_moves
    assert [source and source.element for source in what.moved] == [0, 3, 1, 4, 2, 5]


def test_padding_comes_from_the_value() -> None:
    text = """ENTRY e { x = s32[2] parameter(0) v = s32[] parameter(1)
    ROOT y = s32[4] pad(x, v), padding=1_0_1 }"""
    what = found(text, np.int32([5, 6]), np.int32(9))
    assert what.moved == (
        ArgumentElement(1, 0),
        ArgumentElement(0, 0),
        ArgumentElement(1, 0),
        ArgumentElement(0, 1),
    )


def test_a_product_depends_on_a_row_and_a_column() -> None:
    text = """ENTRY e { x = f32[2,2] parameter(0) y = f32[2,2] parameter(1)
    ROOT z = f32[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }"""
    what = found(text, np.float32([[1, 2], [3, 4]]), np.float32([[1, 2], [3, 4]]))
    assert not what.only_moves
    assert what.sources[1] == {
        ArgumentElement(0, 0),
        ArgumentElement(0, 1),
        ArgumentElement(1, 1),
        ArgumentElement(1, 3),
    }


def test_an_index_is_no_element_that_is_moved() -> None:
    text = """ENTRY e { x = s32[4] parameter(0) i = s32[] parameter(1)
    ROOT y = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2} }"""
    what = found(text, np.int32([10, 20, 30, 40]), np.int32(1))
    assert what.moved == (ArgumentElement(0, 1), ArgumentElement(0, 2))
    assert ArgumentElement(1, 0) in what.sources[0]


def drawn(name: str) -> list[str]:
    """The words of an opcode's picture, in order."""
    root = ET.fromstring(opcode_picture(name, example_of(name)).svg)
    return [t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("name", ["tanh", "log", "floor", "reduce-precision"])
def test_a_function_is_a_curve(name: str) -> None:
    assert 'class="curve"' in opcode_picture(name, example_of(name)).svg


def test_a_function_of_two_numbers_is_a_table() -> None:
    words = drawn("maximum")
    assert words[0] == "float32 → float32"
    truths = words[words.index("bool → bool") :]
    assert truths == ["bool → bool", "x  \\  y", "0", "0", "0", "1", "1", "1", "1", "1"]


def test_devices_are_told_apart() -> None:
    words = drawn("collective-permute")
    (first,) = (words[n : n + 10] for n, word in enumerate(words) if word == "device 0")
    assert first == ["device 0", "result [4]", "21", "22", "23", "24", "x [4]", "11", "12", "13"]
    svg = opcode_picture("all-reduce", example_of("all-reduce")).svg
    # 3 devices: 4 elements of each in one colour, and 4 of each result in all three.
    assert svg.count('fill="hsl(') == 3 * 4 + 3 * 4 * 3


def test_values_are_drawn_as_they_arise() -> None:
    words = drawn("infeed")
    assert words[0] == "the host sends, for r"
    assert words.index("first = after-all()") < words.index("r = infeed(first)")
    assert words.count("token") == 2
