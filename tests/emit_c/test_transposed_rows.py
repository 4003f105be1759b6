"""Short rows are read and written as columns of transposed blocks."""

import numpy as np
import pytest

import emit_c
import hlo
from hlo.types.element_type import ELEMENT_TYPES
from interpreter import evaluate
from interpreter.numbers.compare import BITS, compare

FOLD = """HloModule m
most {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT r = {0}[] maximum(a, b) }}
ENTRY e {{
  p = {0}[{1},{2}] parameter(0)
  least = {0}[] constant(0)
  {3}
}}"""
# The elements of a row less its maximum, in the row and the other way round.
ROWS = """m = {0}[{1}] reduce(p, least), dimensions={{1}}, to_apply=most
  b = {0}[{1},{2}] broadcast(m), dimensions={{0}}
  s = {0}[{1},{2}] subtract(p, b)
  ROOT r = {0}[{1},{2}] {3}"""
# The maximum of the odd columns of mirrored rows.
STRIDED = """o = {0}[{1},{2}] reverse(p), dimensions={{0,1}}
  h = {0}[{1},{3}] slice(o), slice={{[0:{1}],[1:{2}:2]}}
  ROOT m = {0}[{1}] reduce(h, least), dimensions={{1}}, to_apply=most"""
# The maximum of rows between zeros, of which not all are loaded.
PADDED = """z = {0}[] constant(0)
  o = {0}[{1},{3}] pad(p, z), padding=0_0x-1_3
  ROOT m = {0}[{1}] reduce(o, least), dimensions={{1}}, to_apply=most"""


def module_of(body, kind, rows, size, *more):
    return hlo.parse(FOLD.format(kind, rows, size, body.format(kind, rows, size, *more)))


def agrees(module, kind, rows, size):
    """The C of a module that gives, in it, what the interpreter gives."""
    x = np.random.default_rng(size).integers(0, 99, (rows, size)).astype(ELEMENT_TYPES[kind].dtype)
    executable = emit_c.compile(module)
    assert compare(executable(x), evaluate(module, x), BITS) is None
    return executable.source


@pytest.mark.parametrize("size", [5, 7, 8, 9, 10, 13, 15, 16])
@pytest.mark.parametrize("rows", [64, 77])
@pytest.mark.parametrize("kind", ["f32", "s32", "u32", "f64", "bf16"])
def test_rows_that_are_read_and_written(kind, rows, size):
    for root in ("copy(s)", "reverse(s), dimensions={1}", "reverse(s), dimensions={0,1}"):
        agrees(module_of(ROWS, kind, rows, size, root), kind, rows, size)


@pytest.mark.parametrize("size", [10, 13, 14, 30])
def test_columns_that_lie_apart(size):
    agrees(module_of(STRIDED, "f32", 100, size, size // 2), "f32", 100, size)


@pytest.mark.parametrize("size", [6, 11])
def test_elements_that_are_chosen_are_gathered(size):
    agrees(module_of(PADDED, "f32", 100, size, size + 2), "f32", 100, size)


@pytest.mark.parametrize(
    ("kind", "size", "is_transposed"),
    [
        ("f32", 5, True),
        ("s32", 10, True),
        ("f32", 4, False),
        ("f32", 17, False),
        ("f64", 10, False),
    ],
)
def test_numbers_of_four_bytes_in_rows_of_five_to_sixteen_are_transposed(kind, size, is_transposed):
    source = agrees(module_of(ROWS, kind, 100, size, "copy(s)"), kind, 100, size)
    assert ("padded[r" in source) == is_transposed
    assert (f" < {size} ? p[" in source) == is_transposed
