"""Indices are divided in 32 bits in lanes, where they fit; C gives what the interpreter gives."""

import numpy as np
import pytest
from written import For

import emit_c
import hlo
import interpreter
from codegen.expressions import Index, Name, item
from codegen.loops.narrow_divisions import narrow_divisions
from codegen.printer import text
from codegen.statements import Assign
from interpreter.numbers.compare import compare
from optimizer.analysis.indexing import Sum, counter


def shown(number: Sum, *, simd: bool = True) -> str:
    """The one statement of a loop over `i` that loads an element by its number."""
    load = Assign(item(Name("y"), counter("i", 8)), item(Name("x"), number))
    loop = For("i", 8, (load,), simd=simd)
    return text(narrow_divisions([loop])).splitlines()[-2].strip()


def test_small_indices_are_divided_in_32_bits():
    i = counter("i", 49)
    assert shown(i // 7 * 3) == "y[i] = x[(s64)((s32)i / 7) * 3];"
    assert shown(i % 7 + 2) == "y[i] = x[(s64)((s32)i % 7) + 2];"
    turned = counter("k", 5) * 7 + (i // 7) * -1 + 6
    assert shown(turned) == "y[i] = x[k * 7 + (s64)((s32)i / 7) * -1 + 6];"


def test_a_division_in_a_division_is_narrow_too():
    i = counter("i", 1000)
    inner = Index((i // 7 + counter("k", 9)) // 10)
    assert shown(inner.sum) == "y[i] = x[(s64)((s32)((s64)((s32)i / 7) + k) / 10)];"


@pytest.mark.parametrize(
    ("number", "simd"),
    [
        (counter("i", 64) // 8, True),
        (counter("i", 2**31 + 1) // 7, True),
        (counter("i", 49) // 7, False),
    ],
    ids=["a shift", "too large", "not in lanes"],
)
def test_others_stay_as_they_are(number, simd):
    assert shown(number, simd=simd) == f"y[i] = x[{number.text}];"


def test_rows_that_are_cut_anew():
    module = hlo.parse("""HloModule cut
ENTRY e {
  x = f32[7,9] parameter(0)
  row = f32[63] reshape(x)
  part = f32[60] slice(row), slice={[2:62]}
  cut = f32[4,15] reshape(part)
  twice = f32[4,15] add(cut, cut)
  turned = f32[15,4] transpose(twice), dimensions={1,0}
  ROOT flat = f32[3,20] reshape(turned)
}""")
    x = np.arange(63, dtype=np.float32).reshape(7, 9)
    assert compare(emit_c.compile(module)(x), interpreter.evaluate(module, x)) is None
