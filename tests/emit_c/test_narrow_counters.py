"""Indices in lanes are divided and compared in 32 bits, where they fit, with equal results."""

import re

import pytest
from strategies.compiled import check, whole
from written import For

import emit_c
import hlo
from codegen.expressions import Index, Literal, Name, Op, item
from codegen.loops.narrow_counters import narrow_counters
from codegen.printer import text
from codegen.statements import Assign, If
from optimizer import optimize
from optimizer.analysis.indexing import Sum, counter


def shown(number: Sum, *, simd: bool = True) -> str:
    """The one statement of a loop over `i` that loads an element by its number."""
    load = Assign(item(Name("y"), counter("i", 8)), item(Name("x"), number))
    loop = For("i", 8, (load,), simd=simd)
    return text(narrow_counters([loop])).splitlines()[-2].strip()


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


def branch(number: Sum) -> str:
    """The condition of a branch in a loop in lanes, that compares a number."""
    store = Assign(item(Name("y"), counter("i", 8)), Name("x"))
    condition = Op("<", (Index(number), Literal(64)))
    loop = For("i", 8, (If(condition, (store,), ()),), simd=True)
    return text(narrow_counters([loop])).splitlines()[2].strip()


def test_small_indices_are_compared_in_32_bits():
    i, block = counter("i", 49), counter("block", 1000)
    assert branch(block + i + 1) == "if ((s32)(block + i + 1) < 64) {"
    assert branch(i // 7) == "if ((s32)(s64)((s32)i / 7) < 64) {"
    assert branch(counter("i", 2**31)) == "if ((s32)i < 64) {"
    assert branch(counter("i", 2**31 + 1)) == "if (i < 64) {"
    assert branch(counter("i", 9) + -(2**31)) == f"if (i - {2**31} < 64) {{"


def test_counters_of_another_name_are_compared_so_too():
    """A pass that cuts a loop in blocks names its counter anew, whose bounds stay known."""
    module = hlo.parse("""HloModule grid
any { a = pred[] parameter(0) b = pred[] parameter(1) ROOT r = pred[] or(a, b) }
ENTRY e {
  x = s32[64,64] parameter(0)
  most = s32[] constant(9999)
  wide = s32[64,66] pad(x, most), padding=0_0x1_1
  left = s32[64,64] slice(wide), slice={[0:64], [0:64]}
  right = s32[64,64] slice(wide), slice={[0:64], [2:66]}
  least = s32[64,64] minimum(left, right)
  next = s32[64,64] minimum(least, x)
  differ = pred[64,64] compare(next, x), direction=NE
  no = pred[] constant(false)
  changed = pred[] reduce(differ, no), dimensions={0,1}, to_apply=any
  ROOT both = (s32[64,64], pred[]) tuple(next, changed)
}""")
    source = emit_c.emit(optimize(module, target="cpu")).source
    assert re.search(r"if \(\(s32\)\(j\w* - 1\) >= 0\)", source)
    check(module, optimize=True, arguments=whole(0, 9999))


def test_rows_that_are_cut_anew():
    module = """HloModule cut
ENTRY e {
  x = f32[7,9] parameter(0)
  row = f32[63] reshape(x)
  part = f32[60] slice(row), slice={[2:62]}
  cut = f32[4,15] reshape(part)
  twice = f32[4,15] add(cut, cut)
  turned = f32[15,4] transpose(twice), dimensions={1,0}
  ROOT flat = f32[3,20] reshape(turned)
}"""
    check(module, optimize=True)
