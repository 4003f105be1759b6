"""Trees: what is in them, and what they are with something else in it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.callees import FUNCTIONS
from codegen.expressions import (
    Apply,
    Cast,
    Choose,
    Index,
    Literal,
    Load,
    Name,
    Op,
    conjoined,
    indexed,
    is_number,
)
from codegen.printer import shown
from codegen.walk import callees_of, names_of, spelled_out, substitute, walk
from optimizer.analysis.indexing import Counter, Sum, unknown

X, Y = Name("x"), Name("y")


@st.composite
def sums(draw, depth=2):
    """Index arithmetic, with quotients and remainders."""
    total = Sum(draw(st.integers(-20, 20)))
    for name in draw(st.lists(st.sampled_from("ijk"), max_size=3)):
        part = unknown(name, 0, 9)
        if depth and draw(st.booleans()):
            inside = draw(sums(depth=depth - 1))
            shifted = inside + -inside.low
            divisor = draw(st.integers(2, 9))
            part = shifted // divisor if draw(st.booleans()) else shifted % divisor
        total = total + part * draw(st.integers(-9, 9))
    return total


def test_numbers_are_told_apart_as_they_are_written():
    assert Literal(0.0, "f32") != Literal(-0.0, "f32")
    assert Literal(1) != Literal(1.0, "f64")
    assert Literal(np.nan, "f32") == Literal(np.nan, "f32")
    assert is_number(Literal(3), 3)
    assert is_number(indexed(Sum(3)), 3)
    assert not is_number(Literal(3.0, "f32"), 3)


def test_names_stand_as_often_as_they_are_read():
    index = Index(unknown("i", 0, 9) * 4 + unknown("i", 0, 9) // 2)
    tree = Choose(Op("<", (X, Y)), Load(X, index), Cast("f32", Apply(FUNCTIONS["f"], (Y,))))
    assert sorted(names_of(tree)) == ["i", "i", "x", "x", "y", "y"]
    assert callees_of(tree) == [FUNCTIONS["f"]]


def test_a_tree_without_the_name_stays_the_same_object():
    tree = Op("+", (X, Load(Name("a"), Index(unknown("i", 0, 9)))))
    assert substitute(tree, {"j": Y}) is tree
    assert substitute(tree, {"x": Y}) == Op("+", (Y, tree.args[1]))


def test_a_counter_is_replaced_inside_of_index_arithmetic():
    load = Load(Name("a"), Index(unknown("i", 0, 9) * 4 + unknown("j", 0, 3)))
    assert shown(substitute(load, {"j": Literal(2)})) == "a[i * 4 + 2]"


@pytest.mark.parametrize("number", [3, Name("n")])
def test_arithmetic_makes_trees(number):
    assert (X * number + Y) == Op("+", (Op("*", (X, Literal(3) if number == 3 else number)), Y))
    assert Op("-", (X,)) == -X


def test_conditions_hold_together():
    assert shown(conjoined([X, Y, Op("<", (X, Y))])) == "x && y && x < y"


@given(sums(), st.fixed_dictionaries({name: st.integers(0, 9) for name in "ijk"}))
def test_index_arithmetic_spelled_out_means_the_same(total, values):
    text = shown(spelled_out(total))
    assert text == total.text == shown(Index(total))
    assert eval(text.replace("/", "//"), {}, values) == number(total, values)


def number(total, values):
    """What a sum is, for some values of the counters."""
    found = total.constant
    for atom, factor in total.terms:
        if isinstance(atom, Counter):
            found += values[atom.name] * factor
        else:
            quotient, rest = divmod(number(atom.dividend, values), atom.divisor)
            found += (quotient if type(atom).__name__ == "Quotient" else rest) * factor
    return found


def test_trees_are_no_parts_of_texts():
    with pytest.raises(TypeError, match="printer"):
        f"{X} + 1"


def test_walks_go_through_everything():
    tree = Op("-", (Load(X, Cast("s64", Y)), Literal(1)))
    assert [type(each).__name__ for each in walk(tree)] == [
        *("Op", "Load", "Name", "Cast", "Name", "Literal"),
    ]
