"""The short cuts for usual values read what the grammar reads."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from hlo.read.fast.usual import USUAL
from hlo.read.value_text import read

INTS = st.lists(st.integers(0, 12), max_size=4)
NAMES = st.sampled_from(["f32", "pred", "s4", "f8e4m3fn", "token", "f33", "tuple"])


def listed(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))


@st.composite
def array_texts(draw: st.DrawFn) -> str:
    dims = draw(INTS)
    order = draw(st.permutations(range(len(dims))))
    spoilt = draw(st.sampled_from([[], [], [], [0]]))  # sometimes one dimension too many
    layout = draw(st.sampled_from(["", f"{{{listed([*order, *spoilt])}}}", "{0:T(8)}"]))
    return f"{draw(NAMES)}[{listed(dims)}]{layout}"


@st.composite
def tuple_texts(draw: st.DrawFn) -> str:
    parts = draw(st.lists(array_texts() | st.just("(f32[])"), max_size=4))
    return "(" + draw(st.sampled_from([", ", ",", " ,  ", ",,"])).join(parts) + ")"


@st.composite
def range_texts(draw: st.DrawFn) -> str:
    ranges = draw(st.lists(st.lists(st.integers(-1, 9), min_size=1, max_size=4), max_size=3))
    return "{" + ", ".join("[" + ":".join(map(str, r)) + "]" for r in ranges) + "}"


@st.composite
def metadata_texts(draw: st.DrawFn) -> str:
    entries = ['op_type="add"', 'op_name="jit(f)/add"', "source_line=3", "source_line=0", "x=1"]
    return "{" + " ".join(draw(st.lists(st.sampled_from(entries), max_size=3))) + "}"


TUPLE_TEXTS = tuple_texts()
SHAPE_TEXTS = array_texts() | TUPLE_TEXTS
TEXTS: dict[str, st.SearchStrategy[str]] = {
    "int": st.integers(-(10**20), 10**20).map(str),
    "ints": st.builds(listed, INTS).map("{{{}}}".format) | st.just("{,1}"),
    "bool": st.sampled_from(["true", "false", "True", "1"]),
    "slice_ranges": range_texts(),
    "shape": SHAPE_TEXTS,
    "metadata": metadata_texts(),
    "computation_layout": st.builds("{{{}->{}}}".format, TUPLE_TEXTS, SHAPE_TEXTS),
}


@pytest.mark.parametrize("kind", USUAL)
@given(data=st.data())
def test_agrees_with_the_grammar(kind: str, data: st.DataObject) -> None:
    text = data.draw(TEXTS[kind])
    usual = USUAL[kind](text)
    assert usual is None or usual == read(kind, text, None)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("int", "17"),
        ("ints", "{}"),
        ("bool", "false"),
        ("metadata", '{op_type="add" op_name="jit(f)/add" source_line=3}'),
        ("slice_ranges", "{[0:8], [1:8:2]}"),
        ("shape", "f32[2,3]{1,0}"),
        ("shape", "(f32[], s32[2]{0})"),
        ("shape", "()"),
        ("computation_layout", "{(f32[2]{0}, s32[])->(f32[2]{0})}"),
    ],
)
def test_knows_the_usual_form(kind: str, text: str) -> None:
    assert USUAL[kind](text) is not None


@pytest.mark.parametrize("text", ["f32[2]{0}{0}", "(f32[],)", "(f32[] s32[])", "f32[2]{1}"])
def test_leaves_the_rest_to_the_grammar(text: str) -> None:
    assert USUAL["shape"](text) is None
