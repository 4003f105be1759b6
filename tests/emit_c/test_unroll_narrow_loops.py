"""Short loops over numbers of few bits are written out; C gives the same values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from written import Assign, For, If, Let, Variable

import emit_c
import hlo
import interpreter
from codegen.elements.kernel import Scope
from codegen.kinds import Pointer
from codegen.printer import text
from codegen.schedule.types import KernelTypes
from emit_c.kernels.kernel import CKernel
from emit_c.kernels.unroll_narrow_loops import unroll_narrow_loops
from hlo.types.element_type import ELEMENT_TYPES

KINDS = {"x": Pointer("u8"), "y": Pointer("u8"), "wide": Pointer("f32"), "places": Pointer("s32")}
TAKEN = (Let("s32", "place", "places[j]"), Assign("y[i * 3 + j]", "x[i * 3 + place]"))


def unrolled(*statements):
    """Statements after the pass."""
    return text(unroll_narrow_loops(CKernel(None, Scope()).body, statements, KernelTypes(KINDS)))


def rows(*inside, columns=3, count=900, **options):
    """A loop over rows, and one over columns in lanes."""
    return For("i", count, (For("j", columns, inside, simd=True, **options),))


def test_columns_are_written_out():
    assert (
        unrolled(rows(*TAKEN))
        == """\
  for (s64 i = 0; i < 900; i++) {
    const s32 place = places[0];
    y[i * 3 + 0] = x[i * 3 + place];
    const s32 place_1 = places[1];
    y[i * 3 + 1] = x[i * 3 + place_1];
    const s32 place_2 = places[2];
    y[i * 3 + 2] = x[i * 3 + place_2];
  }
"""
    )


def test_a_short_nest_is_written_out():
    copied = For(
        "k", 2, (For("j", 2, (Assign("y[i * 4 + k * 2 + j]", "x[i * 2 + j]"),), simd=True),)
    )
    made = unrolled(For("i", 900, (copied,)))
    assert made.count("for (") == 1
    assert "y[i * 4 + 1 * 2 + 1] = x[i * 2 + 1];" in made


def test_a_choice_is_written_out():
    sides = (Assign("c", "x[i * 3 + j + n]"),), (Assign("c", "x[i * 3 + j + n - 3]"),)
    chosen = Variable("u8", "c"), If("j + n < 3", *sides), Assign("y[i * 3 + j]", "c")
    assert unrolled(rows(*chosen)).count("if (") == 3


@pytest.mark.parametrize(
    "loop",
    [
        rows(*TAKEN, columns=8),
        rows(*TAKEN, count=9),
        rows(Assign("wide[i * 3 + j]", "x[i * 3 + j]")),
        rows(Assign("y[j]", "y[j] + x[i * 3 + j]"), reductions=(("+", "y"),)),
        rows(Assign("local[j]", "x[i * 3 + j]")),
        rows(Assign("y[i * 3 + j]", "store_bf16(load_bf16(x[i * 3 + j]) + 1)")),
        For("j", 3, TAKEN, simd=True),
        For("i", 900, (For("j", 3, TAKEN),)),
    ],
    ids=[
        "a vector of bytes",
        "few rows",
        "numbers of 32 bits",
        "a fold",
        "an array of its own",
        "functions",
        "no rows",
        "no lanes",
    ],
)
def test_others_stay(loop):
    assert unrolled(loop) == text([loop])


# ----------------------------------------------------------------------------------------- programs

BODIES = {
    "taken": """
  flipped = {kind}[{n},{rows}] transpose(x), dimensions={{1,0}}
  found = {kind}[{n},{rows}] gather(flipped, at), offset_dims={{1}}, collapsed_slice_dims={{0}},
    start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,{rows}}}
  ROOT back = {kind}[{rows},{n}] transpose(found), dimensions={{1,0}}""",
    "rolled": """
  zero = s32[] constant(0)
  first = s32[1] slice(at), slice={{[0:1]}}
  shift = s32[] reshape(first)
  twice = {kind}[{rows},{twice}] concatenate(x, x), dimensions={{1}}
  ROOT r = {kind}[{rows},{n}] dynamic-slice(twice, zero, shift),
    dynamic_slice_sizes={{{rows},{n}}}""",
    "tiled": """
  rows = {kind}[{rows},2,{n}] broadcast(x), dimensions={{0,2}}
  ROOT r = {kind}[{rows},{twice}] reshape(rows)""",
}


@given(
    body=st.sampled_from(sorted(BODIES)),
    kind=st.sampled_from(["u8", "pred", "s16", "bf16", "f16", "f32"]),
    rows=st.integers(1, 300),
    columns=st.integers(2, 17),
)
def test_values(body, kind, rows, columns):
    inside = BODIES[body].format(kind=kind, rows=rows, n=columns, twice=2 * columns)
    module = hlo.parse(f"""HloModule rows
ENTRY e {{
  x = {kind}[{rows},{columns}] parameter(0)
  at = s32[{columns}] parameter(1){inside}
}}""")
    generator = np.random.default_rng(rows)
    x = generator.integers(0, 100, (rows, columns)).astype(ELEMENT_TYPES[kind].dtype)
    at = generator.integers(-2, columns + 2, columns).astype(np.int32)
    np.testing.assert_array_equal(
        np.asarray(emit_c.compile(module)(x, at)), np.asarray(interpreter.evaluate(module, x, at))
    )
