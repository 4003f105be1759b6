"""Patterns: what they match, how they print, and why they do not match."""

import doctest
from itertools import permutations

import numpy as np
import pytest
from bodies import LEAVES, module, root
from hypothesis import given
from hypothesis import strategies as st

import optimizer.rewriting.pattern
import optimizer.rewriting.rule
from hlo.names import NameSupply
from hlo.opcode import OPCODES
from hlo.types.element_type import BF16, S4, S8, U8
from hlo.types.shape import array
from optimizer.rewriting.application import Application, orders
from optimizer.rewriting.make import constant, make, splat
from optimizer.rewriting.pattern import (
    add,
    c,
    concatenate,
    iota,
    maximum,
    minimum,
    multiply,
    negate,
    one_of,
    p,
    q,
    subtract,
    transpose,
    tuple_,
    x,
    xs,
    y,
)
from optimizer.rewriting.rule import explain, rule
from optimizer.rewriting.term import ConstantVariable, Exactly, Variable


def test_patterns_print_as_they_are_written():
    assert str(subtract(x, negate(y))) == "subtract(x, negate(y))"
    assert str(multiply(x, 1 / (c + 2))) == "multiply(x, 1 / (c + 2))"
    assert str(transpose(transpose(x, p), q)) == (
        "transpose(transpose(x, dimensions=p), dimensions=q)"
    )
    assert str(one_of(maximum, minimum)(x, 0)) == "maximum|minimum(x, 0)"
    assert str(concatenate(xs, dimensions=p)) == "concatenate(*xs, dimensions=p)"


@pytest.mark.parametrize("documented", [optimizer.rewriting.pattern, optimizer.rewriting.rule])
def test_examples_in_the_documentation_hold(documented):
    failed, tried = doctest.testmod(documented)
    assert failed == 0
    assert tried > 0


def test_wrong_patterns_are_refused():
    with pytest.raises(TypeError):
        add(x)
    with pytest.raises(TypeError):
        add(x, y, colour=3)
    with pytest.raises(TypeError):
        transpose(x, p, q)


def backtracking(side, instr, found):
    """Every way in which a pattern matches, by trying all orders at every place."""
    if isinstance(side, Variable):
        if found.get(side.name, instr) is instr:
            yield {**found, side.name: instr}
        return
    if isinstance(side, ConstantVariable | Exactly):
        copy = dict(found)
        if side.mismatch(instr, copy) is None:
            yield copy
        return
    if instr.opcode not in side.opcodes or len(instr.operands) != len(side.operands):
        return
    commutes = "commutative" in OPCODES[instr.opcode].traits
    for operands in permutations(instr.operands) if commutes else [instr.operands]:
        states = [found]
        for inner, operand in zip(side.operands, operands, strict=True):
            states = [new for state in states for new in backtracking(inner, operand, state)]
        yield from states


@st.composite
def patterns(draw, depth=3):
    opcode = draw(st.sampled_from([add, multiply, subtract, negate, None]))
    if depth == 0 or opcode is None:
        return draw(st.sampled_from([x, y, c, Exactly(0)]))
    return opcode(*[draw(patterns(depth - 1)) for _ in range(OPCODES[opcode.opcodes[0]].arity)])


@st.composite
def graphs(draw, depth=3):
    opcode = draw(st.sampled_from(["add", "multiply", "subtract", "negate", None]))
    if depth == 0 or opcode is None:
        return draw(st.sampled_from(LEAVES))
    return make(opcode, *[draw(graphs(depth - 1)) for _ in range(OPCODES[opcode].arity)])


@given(patterns(), graphs())
def test_matching_finds_what_trying_all_orders_finds(pattern, instr):
    if not isinstance(pattern, Application):
        return
    fits = any(order.mismatch(instr, {}) is None for order in orders(pattern))
    assert fits == any(True for _ in backtracking(pattern, instr, {}))
    assert (explain(pattern, instr) == "it matches") == fits


def test_every_order_is_tried_with_fresh_bindings():
    pattern = add(multiply(x, y), multiply(x, negate(y)))
    instr = root(
        "n = f32[2,3] negate(x)\n a = f32[2,3] multiply(x, y)\n b = f32[2,3] multiply(n, y)\n"
        "ROOT r = f32[2,3] add(b, a)"
    )
    assert explain(pattern, instr) == "it matches"


def test_explain_says_what_is_wrong():
    instr = root("n = f32[2,3] negate(x)\n ROOT r = f32[2,3] subtract(n, y)")
    assert explain(subtract(negate(x), x), instr) == "x is %x already, so it is not %y"
    assert explain(subtract(x, 0), instr) == "%y, a parameter, is not 0 everywhere"
    assert explain(add(x, y), instr) == "%r is a subtract, not an add"
    assert explain(subtract(x, c), instr) == "c is a constant, %y is a parameter"
    turned = root("ROOT t = f32[3,2] transpose(x), dimensions={1,0}")
    assert explain(transpose(x, (0, 1)), turned) == "%t has dimensions=(1, 0), not (0, 1)"


@pytest.mark.parametrize("wanted", [0, 0.0, -0.0])
@pytest.mark.parametrize("held", [0.0, -0.0])
def test_a_whole_zero_is_either_zero(wanted, held):
    same = str(wanted) == str(held) or isinstance(wanted, int)
    zeros = constant(np.array([held, held], np.float32))
    assert (Exactly(wanted).mismatch(zeros, {}) is None) == same


@pytest.mark.parametrize("element_type", [S4, S8, U8, BF16], ids=str)
def test_number_that_a_type_has_not_is_no_constant_of_it(element_type):
    held = splat(1, array(element_type))
    assert Exactly(70_000).mismatch(held, {}) is not None
    assert Exactly(1).mismatch(held, {}) is None


def test_rest_means_the_same_operands_again():
    twice = tuple_(concatenate(xs), concatenate(xs))
    text = """
  a = f32[4,3] concatenate(x, y), dimensions={{0}}
  b = f32[4,3] concatenate({}), dimensions={{0}}
  ROOT t = (f32[4,3], f32[4,3]) tuple(a, b)"""
    same = module(text.format("x, y")).entry.root
    other = module(text.format("y, x")).entry.root
    assert twice.mismatch(same, {}) is None
    assert "other operands than *xs" in explain(twice, other)
    assert tuple_(x, y, xs).mismatch(module("ROOT t = (f32[2,3]) tuple(x)").entry.root, {})


def test_all_constructors_can_be_imported_at_once():
    names: dict = {}
    exec("from optimizer.rewriting.pattern import *", names)
    assert names.keys() >= optimizer.rewriting.pattern.CONSTRUCTORS.keys()
    assert names["select"] is optimizer.rewriting.pattern.select


def test_pattern_on_a_right_side_is_refused_with_a_hint():
    @rule(negate(x))
    def numbers(root):
        return iota(0, shape=root.shape)

    instr = module("ROOT n = f32[2,3] negate(x)").entry.root
    with pytest.raises(TypeError, match=r"numbers returns the pattern `iota.*make\(\"iota\""):
        numbers.rewritten(instr, NameSupply())


@pytest.mark.parametrize("write", [lambda: 2 * x, lambda: x + 1, lambda: negate(x) - x])
def test_operators_on_instructions_tell_what_to_write(write) -> None:
    """Python said "unsupported operand type(s)": a student could not go on from there."""
    with pytest.raises(TypeError, match=r"is an instruction.*write add\(x, y\)"):
        write()
