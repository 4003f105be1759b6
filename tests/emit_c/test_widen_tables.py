"""Loops in lanes look up tables of bytes as numbers of 32 bits; C gives the same values."""

import ml_dtypes
import numpy as np
import pytest
from written import Assign, For, If, Let

import emit_c
import hlo
import interpreter
from codegen.elements.constants import Constants
from codegen.elements.kernel import Scope
from codegen.kinds import Pointer
from codegen.printer import text
from codegen.statements import Statement
from emit_c import emit
from emit_c.code.names import CNames
from emit_c.kernels.kernel import CKernel
from emit_c.kernels.widen_tables import widen_tables
from optimizer import optimize


def looked_up(size: int, count: int, kind: str = "u8") -> hlo.Module:
    """So many elements of a table of some size."""
    return hlo.parse(f"""HloModule table
ENTRY e {{
  t = {kind}[{size}] parameter(0)
  places = s32[{count}] parameter(1)
  ROOT found = {kind}[{count}] gather(t, places), offset_dims={{}},
    collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1}}
}}""")


def written(module: hlo.Module) -> str:
    """The C of a module that was optimized."""
    return emit(optimize(module, target="cpu")).source


def widened(*statements: Statement) -> str:
    """The C in place of statements of a kernel with a table `t` of 256 bytes."""
    kernel = CKernel(Constants(CNames()), Scope())
    kernel.argument(Pointer("u8", const=True), "caller", "t", 256)
    return text(widen_tables(kernel, statements))


LOOKED_UP = (Let("s32", "place", "x[i]"), Let("u8", "found", "t[place]"))


def test_the_copy_stands_before_the_loop():
    assert (
        widened(For("j", 9, (For("i", 100, (*LOOKED_UP, Assign("y[i]", "found")), simd=True),)))
        == """\
  s32 wide[256];
  #pragma omp simd
  for (s64 k_1 = 0; k_1 < 256; k_1++) {
    wide[k_1] = t[k_1];
  }
  for (s64 j = 0; j < 9; j++) {
    #pragma omp simd
    for (s64 i = 0; i < 100; i++) {
      const s32 place = x[i];
      const u8 found = wide[place];
      y[i] = found;
    }
  }
"""
    )


def test_loops_out_of_lanes_and_loops_that_choose_stay():
    assert "wide" not in widened(For("i", 900, (*LOOKED_UP, Assign("y[i]", "found"))))
    chosen = (LOOKED_UP[0], If("place < 3", (LOOKED_UP[1], Assign("y[i]", "found"))))
    assert "wide" not in widened(For("i", 900, chosen, simd=True))


def test_elements_in_order_are_no_lookups():
    loaded = (Let("u8", "found", "t[i]"), Assign("y[i]", "found"))
    assert "wide" not in widened(For("j", 9, (For("i", 100, loaded, simd=True),)))


@pytest.mark.parametrize(
    ("size", "count", "kind"),
    [(256, 255, "u8"), (5000, 9000, "u8"), (256, 9000, "s32"), (256, 9000, "bf16")],
    ids=["few", "a long table", "wide numbers", "floats"],
)
def test_others_stay_as_they_are(size, count, kind):
    assert "wide" not in written(looked_up(size, count, kind))


def test_a_table_that_the_kernel_writes_stays():
    source = written(
        hlo.parse("""HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY e {
  t = u8[256] parameter(0)
  places = s32[256] iota(), iota_dimension=0
  back = s32[256] reverse(places), dimensions={0}
  found = u8[256] gather(t, back), offset_dims={}, collapsed_slice_dims={0},
    start_index_map={0}, index_vector_dim=1, slice_sizes={1}
  ROOT sum = u8[256] add(t, found)
}""")
    )
    assert "wide" not in source


@pytest.mark.parametrize("kind", ["pred", "s8", "u8", "s16", "u16", "bf16"])
@pytest.mark.parametrize("size", [1, 16, 300])
@pytest.mark.parametrize("count", [300, 100_000])
def test_values(kind, size, count):
    module = looked_up(size, count, kind)
    generator = np.random.default_rng(size)
    dtype = {"pred": np.bool_, "s8": np.int8, "u8": np.uint8, "s16": np.int16, "u16": np.uint16,
             "bf16": ml_dtypes.bfloat16}[kind]  # fmt: skip
    table = generator.integers(0, 2**16, size).astype(np.uint16).astype(dtype)
    places = generator.integers(-5, size + 5, count).astype(np.int32)
    made = emit_c.compile(module)(table, places)
    want = interpreter.evaluate(module, table, places)
    assert isinstance(made, np.ndarray)
    assert isinstance(want, np.ndarray)
    assert made.tobytes() == want.tobytes()
