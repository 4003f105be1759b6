"""Short rows are read and written as columns of transposed blocks."""

import pytest
from strategies.compiled import check, whole

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


def agrees(body, kind, rows, size, *more):
    """The C of a module that gives, in it, what the interpreter gives."""
    text = FOLD.format(kind, rows, size, body.format(kind, rows, size, *more))
    return check(text, optimize=True, arguments=whole(0, 99)).source


@pytest.mark.parametrize("size", [5, 7, 8, 9, 10, 13, 15, 16])
@pytest.mark.parametrize("rows", [64, 77])
@pytest.mark.parametrize("kind", ["f32", "s32", "u32", "f64", "bf16"])
def test_rows_that_are_read_and_written(kind, rows, size):
    for root in ("copy(s)", "reverse(s), dimensions={1}", "reverse(s), dimensions={0,1}"):
        agrees(ROWS, kind, rows, size, root)


@pytest.mark.parametrize("size", [10, 13, 14, 30])
def test_columns_that_lie_apart(size):
    agrees(STRIDED, "f32", 100, size, size // 2)


@pytest.mark.parametrize("size", [6, 11])
def test_elements_that_are_chosen_are_gathered(size):
    agrees(PADDED, "f32", 100, size, size + 2)


@pytest.mark.parametrize(
    ("kind", "size", "is_transposed"),
    [("f32", 5, 1), ("s32", 10, 1), ("f32", 4, 0), ("f32", 17, 0), ("f64", 10, 0)],
)
def test_numbers_of_four_bytes_in_rows_of_five_to_sixteen_are_transposed(kind, size, is_transposed):
    source = agrees(ROWS, kind, 100, size, "copy(s)")
    assert ("padded[r" in source) == is_transposed
    assert (f" < {size} ? p[" in source) == is_transposed
