"""Indices in lanes are divided and compared in 32 bits, where they fit, with equal results."""

from emitted import emitted
from strategies.compiled import check, whole

import hlo


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
    assert "narrow-counters" in emitted(module).passes
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
