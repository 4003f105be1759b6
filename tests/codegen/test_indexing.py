"""Index arithmetic says the same as Python's own, whatever it simplifies."""

import itertools
import re

from hypothesis import given
from hypothesis import strategies as st

from codegen.expressions import NEVER, condition_of, conditions_of
from codegen.printer import shown
from optimizer.analysis.indexing import (
    Sum,
    Within,
    bounded,
    counter,
    delinear,
    linear,
    unknown,
)

SIZES = {"i": 3, "j": 4, "k": 2}


def evaluate(text, values):
    """A C expression of nonnegative integers, by Python."""
    return eval(re.sub(r" / ", " // ", text), {}, dict(values))


@st.composite
def sums(draw):
    """Sums, quotients and remainders of counters; never negative."""
    total = Sum(draw(st.integers(0, 5)))
    for name, size in SIZES.items():
        total = total + counter(name, size) * draw(st.integers(0, 9))
    for _ in range(draw(st.integers(0, 3))):
        divisor = draw(st.integers(1, 12))
        kind = draw(st.sampled_from(["/", "%", "+", "%+", "*"]))
        total = {
            "/": lambda t, d: t // d,
            "%": lambda t, d: t % d,
            "+": lambda t, d: t // d * d + t % d,
            "%+": lambda t, d: t // d % 3 * d + t % d,
            "*": lambda t, d: t * d,
        }[kind](total, divisor)
    return total


def all_values():
    for numbers in itertools.product(*(range(n) for n in SIZES.values())):
        yield dict(zip(SIZES, numbers, strict=True))


@given(sums(), st.integers(1, 12))
def test_division_is_pythons(total, divisor):
    for values in all_values():
        value = evaluate(total.text, values)
        assert total.low <= value <= total.high
        assert evaluate((total // divisor).text, values) == value // divisor
        assert evaluate((total % divisor).text, values) == value % divisor


@given(sums(), st.lists(st.tuples(st.sampled_from("ijk"), st.integers(-3, 9)), max_size=3))
def test_where_conditions_hold_the_index_is_the_same(total, asked):
    known = [Within(counter(n, SIZES[n]) * (-1 if c % 3 else 2) + c, 0, 5) for n, c in asked]
    (made,) = bounded((total,), known)
    for values in all_values():
        if all(eval(shown(c), {}, dict(values)) for w in known for c in conditions_of(w)):
            assert made.low <= evaluate(made.text, values) <= made.high
            assert evaluate(made.text, values) == evaluate(total.text, values)


def test_remainders_of_neighbouring_dimensions_are_one():
    """So a row of 224 pixels with 3 colours is one of 672 numbers, which can be read in vectors."""
    x = counter("x", 1000) * 4 + counter("v", 4)
    assert (x // 3 % 224 * 3 + x % 3) * 2 == x % 672 * 2
    assert (x % 672).text == "(x % 168) * 4 + v"
    assert x // 3 % 224 * 4 + x % 3 != x % 672


def test_where_a_condition_holds_less_is_divided():
    j = counter("j", 513)
    (row,) = bounded((j + 1,), [Within(j + -256, 0, 257)])
    assert (row // 257).text == "1"
    assert (row % 257).text == "j - 256"


@given(sums(), sums())
def test_addition_is_pythons(x, y):
    for values in all_values():
        assert evaluate((x + y).text, values) == evaluate(x.text, values) + evaluate(y.text, values)


@given(st.permutations([2, 3, 4, 1]), st.permutations([6, 2, 1, 2]))
def test_reshaping_there_and_back_is_nothing(dims, others):
    index = tuple(counter(f"i{d}", n) for d, n in enumerate(dims))
    there = delinear(linear(index, dims), others)
    back = delinear(linear(there, others), dims)
    for numbers in itertools.product(*map(range, dims)):
        values = {f"i{d}": n for d, n in enumerate(numbers)}
        assert tuple(evaluate(part.text, values) for part in back) == numbers


def test_splitting_a_dimension_and_joining_it_is_seen_to_be_nothing():
    index = (counter("i", 4), counter("j", 6))
    assert delinear(linear(delinear(linear(index, (4, 6)), (4, 2, 3)), (4, 2, 3)), (4, 6)) == index


def test_a_quotient_below_the_divisor_vanishes():
    i, j = counter("i", 10), counter("j", 8)
    assert (i * 8 + j) // 8 == i
    assert (i * 8 + j) % 8 == j
    assert (i * 16 + j) // 8 == i * 2


def test_what_lies_below_a_step_of_the_rest_does_not_matter():
    i, j = counter("i", 16), counter("j", 64)
    assert ((i * 64 + j) // 448).text == "(i / 7)"
    assert ((i * 64 + j + 896) % 448 + 3).text == "(i % 7) * 64 + j + 3"
    assert delinear(i * 64 + j, (2, 8, 64)) == (i // 8, i % 8, j)


def test_an_index_of_any_rank_is_its_number_again():
    """Also where the quotient of a quotient is written as one: (i / 56) / 56 is i / 3136."""
    i, j = counter("i", 200704), counter("j", 256)
    index = delinear(i, (64, 56, 56))
    assert linear((*index, j), (64, 56, 56, 256)) == i * 256 + j
    assert linear(delinear(i, (2, 2, 16, 56, 56)), (2, 2, 16, 56, 56)) == i


def test_powers_of_two_are_shifts_and_masks_in_c():
    i, j = counter("i", 16), counter("j", 64)
    assert ((i * 64 + j) // 512).text == "(i >> 3)"
    assert ((i * 64 + j + 1024) % 512 + 3).text == "(i & 7) * 64 + j + 3"


def test_what_is_certain_is_not_asked():
    i = counter("i", 10)
    assert condition_of([Within(i, 0, 10)]) is None
    assert condition_of([Within(i, 10, 20)]) == NEVER
    made = condition_of([Within(i + -2, 0, 5, 2)])
    assert shown(made) == "i - 2 >= 0 && i - 2 < 5 && (i - 2) % 2 == 0"


def test_a_loop_of_one_turn_has_no_counter():
    assert counter("i", 1) == Sum(0)
    assert unknown("at", 3, 3) == Sum(3)
