"""Loops along rows change places with blocks of rows; C gives what the interpreter gives."""

from dataclasses import replace

import numpy as np
import pytest
from numbered_names import Names
from written import Assign, For, If, Let, Variable

import emit_c
import hlo
from codegen.kinds import Pointer
from codegen.printer import text
from codegen.schedule.types import KernelTypes
from codegen.statements import LocalVariable
from emit_c.kernels.interchange_short_rows import interchange_short_rows
from hlo.types.element_type import ELEMENT_TYPES
from interpreter import evaluate
from interpreter.numbers.compare import BITS, compare
from optimizer import machine

FOLDS = """HloModule m
most {{ x = {0}[] parameter(0)  y = {0}[] parameter(1)  ROOT r = {0}[] maximum(x, y) }}
sum {{ x = {0}[] parameter(0)  y = {0}[] parameter(1)  ROOT r = {0}[] add(x, y) }}
fold {{
  x = {0}[{1},{2}] parameter(0)
  mask = pred[{1},{2}] parameter(1)
  at = s32[{1},1] parameter(2)
  zero = {0}[] constant(0)
  zeros = {0}[{1},{2}] broadcast(zero), dimensions={{}}
  near = {0}[{1},1,{2}] gather(x, at), offset_dims={{1,2}}, collapsed_slice_dims={{}},
    start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,{2}}}
  row = {0}[{1},{2}] reshape(near)
  m = {0}[{1}] reduce(row, zero), dimensions={{1}}, to_apply=most
  wide = {0}[{1},{2}] broadcast(m), dimensions={{0}}
  less = {0}[{1},{2}] subtract(wide, x)
  some = {0}[{1},{2}] select(mask, less, zeros)
  s = {0}[{1}] reduce(some, zero), dimensions={{1}}, to_apply=sum
  all = {0}[{1},{2}] broadcast(s), dimensions={{0}}
  more = pred[{1},{2}] compare(all, row), direction=GT
  both = pred[{1},{2}] and(more, mask)
  chosen = {0}[{1},{2}] select(both, all, less)
  ROOT t = ({0}[{1},{2}], pred[{1},{2}], {0}[{1},{2}], {0}[{1}]) tuple(chosen, both, row, s)
}}
ENTRY e {{
  x = {0}[{1},{2}] parameter(0)
  mask = pred[{1},{2}] parameter(1)
  at = s32[{1},1] parameter(2)
  ROOT f = ({0}[{1},{2}], pred[{1},{2}], {0}[{1},{2}], {0}[{1}]) fusion(x, mask, at),
    kind=kInput, calls=fold
}}"""


@pytest.mark.parametrize("size", [5, 9, 13])
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "s32", "u8", "s64"])
def test_folds_that_wait_for_folds(kind, size):
    rows = 16 * 4 + size
    module = hlo.parse(FOLDS.format(kind, rows, size))
    generator = np.random.default_rng(size)
    x = generator.integers(0, 9, (rows, size)).astype(ELEMENT_TYPES[kind].dtype)
    mask = generator.random((rows, size)) < 0.5
    at = generator.integers(-3, rows + 3, (rows, 1)).astype(np.int32)
    executable = emit_c.compile(module, optimize=False)
    for mine, meant in zip(executable(x, mask, at), evaluate(module, x, mask, at), strict=True):
        assert compare(mine, meant, BITS) is None
    assert "_block += 16" in executable.source
    assert f"for (s64 j = 0; j < {size}; j++) {{\n      #pragma omp simd" in executable.source


F32 = Pointer("f32", const=True)
TYPES = KernelTypes(
    {"x": F32, "y": Pointer("f32"), "least": F32, "mask": Pointer("pred", const=True)}
)


def along(*statements, trip_count=9, folded="t"):
    return For("j", trip_count, statements, simd=True, reductions=(("+", folded),))


def nest(*, rows=100, trip_count=9, apart=9, size=None):
    first = along(
        Let("f32", "low", "least[i]"),
        Let("f32", "v", f"x[i * {apart} + j]"),
        Assign("t", "t + exp_f32(exp_f32(v - low))"),
        trip_count=trip_count,
    )
    second = along(
        Let("f32", "w", f"x[i * {apart} + j]"),
        Assign("u", "u + exp_f32(exp_f32(w - t))"),
        trip_count=trip_count,
        folded="u",
    )
    body = (
        Variable("f32", "t", "0", size),
        first,
        Variable("f32", "u", "0"),
        second,
        Assign("y[i]", "u"),
    )
    return For("i", rows, body, parallel=True)


def test_blocks_of_rows_around_loops_along_them():
    blocks, left = interchange_short_rows(Names(), [nest()], TYPES)
    assert (blocks.start, blocks.stop, blocks.step, blocks.parallel) == (0, 96, 16, True)
    assert (left.start, left.stop, left.body) == (96, 100, nest().body)
    sizes = {s.name: s.size for s in blocks.body if isinstance(s, LocalVariable)}
    assert {"t": 16, "u": 16, "low": 16}.items() <= sizes.items()
    lanes = [s.body[0] if s.name == "j" else s for s in blocks.body if not hasattr(s, "size")]
    assert {(s.stop, s.simd) for s in lanes} == {(16, True)}
    code = text([blocks])
    before, *_ = code.split("for (s64 j = 0")
    assert "= least[i];" in before, "it is the same all along the row"
    assert code.count("x[(") == 1, "an element is gathered once, and kept"


@pytest.mark.parametrize(
    "loop",
    [
        nest(rows=60),
        nest(trip_count=4, apart=5),
        nest(trip_count=17, apart=17),
        nest(trip_count=16, apart=16),
        nest(apart=3),
        nest(size=4),
    ],
    ids=["few rows", "short", "long", "whole vectors", "taken apart", "an array with a value"],
)
def test_loops_that_stay(loop):
    assert interchange_short_rows(Names(), [loop], TYPES) == (loop,)


def test_rows_of_half_a_vector_wait_for_many_folds():
    loop = nest(trip_count=8, apart=8)
    assert interchange_short_rows(Names(), [loop], TYPES) == (loop,)
    often = replace(loop, body=loop.body * (machine.FOLDS_IN_TURN // 2))
    assert interchange_short_rows(Names(), [often], TYPES)[0].step == 16


def test_loops_inside_of_other_statements():
    (made,) = interchange_short_rows(Names(), [If("c", (For("h", 3, (nest(rows=96),)),))], TYPES)
    assert made.then[0].body[0].step == 16
