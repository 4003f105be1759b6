"""Loops in lanes that load from one of two places choose the address before."""

from textwrap import dedent

import numpy as np
import pytest
from numbered_names import Names

import emit_c
import hlo
from codegen.expressions import Name, binary, item
from codegen.printer import text
from codegen.statements import Assign, For, If, Let, LocalVariable
from emit_c.kernels.select_addresses import select_addresses
from hlo.types.element_type import ELEMENT_TYPES
from interpreter import evaluate
from interpreter.numbers.compare import BITS, compare
from optimizer.analysis.indexing import counter

ROW, COLUMN = counter("i", 8), counter("j", 100)


def load(name, array, number):
    return Let("f32", name, item(Name(array), number))


def chosen(*sides, condition=None):
    """A variable of which a condition says which one of two loads it is given."""
    blocks = [(side, Assign(Name("v"), Name(side.name))) for side in sides]
    condition = condition or binary("<", Name("i"), 2)
    return LocalVariable("f32", "v"), If(condition, *blocks)


def loop(*statements):
    return For("j", 100, (*statements, Assign(item(Name("y"), COLUMN), Name("v"))), simd=True)


def test_the_address_is_chosen_before_the_loop():
    x = load("a", "x", ROW * 100 + COLUMN + 600), load("b", "x", ROW * 100 + COLUMN + -200)
    made = select_addresses(Names(), [loop(*chosen(*x))])
    assert dedent(text(made)) == (
        "const s64 offset_1 = i < 2 ? 600 : -200;\n"
        "#pragma omp simd\n"
        "for (s64 j = 0; j < 100; j++) {\n"
        "  const f32 v = x[i * 100 + j + offset_1];\n"
        "  y[j] = v;\n"
        "}\n"
    )


def test_offsets_may_hold_rows():
    x = load("a", "x", ROW * 100 + COLUMN), load("b", "x", COLUMN)
    made = select_addresses(Names(), [loop(*chosen(*x))])
    assert "offset_1 = i < 2 ? i * 100 : 0;" in text(made)
    assert "v = x[j + offset_1];" in text(made)


def test_choices_inside_of_choices_become_offsets_too():
    x = [load(name, "x", ROW * 100 + COLUMN + n) for n, name in enumerate("abc")]
    declared, inner = chosen(*x[:2])
    wide = LocalVariable("f32", "w")
    choice = If(
        binary("<", Name("i"), 5),
        (declared, inner, Assign(Name("w"), Name("v"))),
        (x[2], Assign(Name("w"), Name("c"))),
    )
    made = text(select_addresses(Names(), [loop(wide, choice)]))
    assert "offset_1 = i < 2 ? 0 : 1;" in made
    assert "offset_2 = i < 5 ? offset_1 : 2;" in made
    assert "w = x[i * 100 + j + offset_2];" in made


@pytest.mark.parametrize("kind", ["f32", "s8"])
def test_products_with_rolled_rows(kind):
    module = hlo.parse(f"""HloModule m
f {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT c = {kind}[] add(a, b) }}
ENTRY e {{
  x = {kind}[20,128,50] parameter(0)
  l = {kind}[20,80,50] slice(x), slice={{[0:20],[48:128],[0:50]}}
  r = {kind}[20,48,50] slice(x), slice={{[0:20],[0:48],[0:50]}}
  n = {kind}[20,128,50] concatenate(l, r), dimensions={{1}}
  p = {kind}[20,128,50] multiply(x, n)
  z = {kind}[] constant(0)
  ROOT s = {kind}[20,128] reduce(p, z), dimensions={{2}}, to_apply=f
}}""")
    dtype = ELEMENT_TYPES[kind].dtype
    x = np.random.default_rng(0).integers(-9, 9, (20, 128, 50)).astype(dtype)
    executable = emit_c.compile(module)
    assert compare(executable(x), evaluate(module, x), BITS) is None
    assert "offset = i_1 < 80 ? 2400 : -4000;" in executable.source
