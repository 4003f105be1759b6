"""Trees as text: parentheses exactly where precedence asks for them."""

import math
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import read

from codegen.callees import FUNCTIONS
from codegen.expressions import Apply, Cast, Choose, Group, Literal, Load, Name, Op, Struct
from codegen.kinds import Pointer, Record
from codegen.printer import PRECEDENCE, shown
from codegen.printer import text as printed
from codegen.statements import For

A, B, C = map(Name, "abc")


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ((A + B) * C, "(a + b) * c"),
        (A + B * C, "a + b * c"),
        (A - (B - C), "a - (b - c)"),
        (A - B - C, "a - b - c"),
        # Compilers warn of these without parentheses.
        (A << (B + C), "a << (b + c)"),
        (Op("|", (Op("<", (A, B)), Op("==", (B, C)))), "(a < b) | (b == c)"),
        (Op("^", (A & B, C + A)), "(a & b) ^ (c + a)"),
        (Op("||", (Op("&&", (A, B)), C)), "(a && b) || c"),
        (Op("==", (Op("<", (A, B)), C)), "(a < b) == c"),
        ((A & B) + C, "(a & b) + c"),
        (Op("==", (A & B, C)), "(a & b) == c"),
        (-Op("-", (A,)), "-(-a)"),
        (-(A + B), "-(a + b)"),
        (-Load(A, B), "-a[b]"),
        (Load(A + B, C), "(a + b)[c]"),
        (Cast(Pointer("f32"), A + B), "(f32 *)(a + b)"),
        (Load(Cast(Pointer("f32"), A), B), "((f32 *)a)[b]"),
        (Choose(A, B, Choose(B, A, C)), "a ? b : b ? a : c"),
        (Choose(Choose(A, B, C), A, B), "(a ? b : c) ? a : b"),
        (Choose(A, B, C) + A, "(a ? b : c) + a"),
        (Apply(FUNCTIONS["f"], (Choose(A, B, C), A + B)), "f(a ? b : c, a + b)"),
        (Op("real", (A,)) + B, "__real__ a + b"),
        (Op("&", (Struct(Record("s"), (A, B)),)), "&(struct s){a, b}"),
        (Group(A) + B, "(a) + b"),
        (A - Literal(-1), "a - -1"),
    ],
)
def test_parentheses(tree, text):
    assert shown(tree) == text
    assert read(text) == tree


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Literal(5), "5"),
        (Literal(-5), "-5"),
        (Literal(5, "u32"), "5u"),
        (Literal(5, "s64"), "5ll"),
        (Literal(255, "u64", hexadecimal=True), "0xffull"),
        (Literal(-(2**63), "s64"), "(-0x7fffffffffffffff - 1)"),
        (Literal(1.0, "f32"), "1.0f"),
        (Literal(-0.0, "f64"), "-0.0"),
        (Literal(0.1, "f64"), "0x1.999999999999ap-4"),
        (Literal(math.inf, "f32"), "__builtin_inff()"),
        (Literal(-math.inf, "f64"), "-__builtin_inf()"),
        (Literal(math.nan, "f32"), '__builtin_nanf("")'),
        (Literal(ord("L"), "char"), "'L'"),
    ],
)
def test_literals(number, text):
    assert shown(number) == text


PYTHON = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    ">=": operator.ge,
}
TREES = st.recursive(
    st.integers(0, 99).map(Literal),
    lambda inner: st.one_of(
        st.builds(lambda op, x, y: Op(op, (x, y)), st.sampled_from(sorted(PYTHON)), inner, inner),
        st.builds(lambda op, x: Op(op, (x,)), st.sampled_from("-~"), inner),
        st.builds(Choose, inner, inner, inner),
    ),
    max_leaves=12,
)


def value(tree):
    match tree:
        case Literal(number):
            return number
        case Group(inside):
            return value(inside)
        case Op(op, (x, y)):
            return int(PYTHON[op](value(x), value(y)))
        case Op(op, (x,)):
            return -value(x) if op == "-" else ~value(x)
        case Choose(condition, then, otherwise):
            return value(then) if value(condition) else value(otherwise)


@given(TREES)
def test_what_is_read_again_is_the_same_tree(tree):
    assert shown(read(shown(tree))) == shown(tree)
    assert value(read(shown(tree))) == value(tree)


def test_every_operation_has_a_level():
    assert all(shown(Op(op, (A, B))) == f"a {op} b" for op in PRECEDENCE)


@pytest.mark.parametrize(
    ("stop", "text"),
    [
        (Choose(Name("c"), Literal(2), Literal(3)), "(c ? 2 : 3)"),
        (Op("<", (Name("a"), Name("b"))), "(a < b)"),
        (Op("+", (Name("a"), Name("b"))), "a + b"),
    ],
)
def test_a_loop_compares_with_all_of_its_stop(stop, text):
    loop = For("i", stop, (), start=Choose(Name("c"), Literal(0), Literal(1)))
    assert printed([loop]) == f"  for (s64 i = c ? 0 : 1; i < {text}; i++) {{\n  }}\n"


@pytest.mark.parametrize(("step", "text"), [(-1, "i--"), (-2, "i += -2")])
def test_a_loop_counts_down_while_it_is_above_its_stop(step, text):
    loop = For("i", 0, (), start=Name("n"), step=step)
    assert printed([loop]) == f"  for (s64 i = n; i > 0; {text}) {{\n  }}\n"
