"""What one pass of a pipeline makes possible, a later one does: a second run finds nothing more."""

import pytest
from strategies.equal import as_needed, nameless

import hlo
from optimizer import optimize

# The branches become a select, and then the map is only elementwise instructions.
BRANCHES_IN_A_MAP = """
HloModule m
zero { t = () parameter(0)  ROOT z = f32[] constant(0) }
one { u = () parameter(0)  ROOT o = f32[] constant(1) }
larger {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  l = pred[] compare(a, b), direction=LT
  s = s32[] convert(l)
  n = () tuple()
  ROOT c = f32[] conditional(s, n, n), branch_computations={zero, one}
}
ENTRY e {
  x = f32[9] parameter(0)
  y = f32[9] parameter(1)
  ROOT m = f32[9] map(x, y), dimensions={0}, to_apply=larger
}
"""
# A branch copies to another layout, which is no work once all arrays have the same.
BRANCHES_OF_LAYOUTS = """
HloModule m
narrow {
  p = (s32[], f32[10,3]{0,1}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  four = s32[] constant(4)
  j = s32[] add(i, four)
  w = f32[10,3]{0,1} get-tuple-element(p), index=1
  s = f32[4,3]{0,1} slice(w), slice={[0:4], [0:3]}
  ROOT t = (f32[4,3]{0,1}, s32[]) tuple(s, j)
}
copied {
  q = (s32[], f32[4,3]{1,0}) parameter(0)
  k = s32[] get-tuple-element(q), index=0
  v = f32[4,3]{1,0} get-tuple-element(q), index=1
  c = f32[4,3]{0,1} copy(v)
  n = s32[] negate(k)
  ROOT u = (f32[4,3]{0,1}, s32[]) tuple(c, n)
}
ENTRY e {
  f = pred[] parameter(0)
  x = (s32[], f32[10,3]{0,1}) parameter(1)
  y = (s32[], f32[4,3]{1,0}) parameter(2)
  ROOT r = (f32[4,3]{0,1}, s32[]) conditional(f, x, y), true_computation=narrow,
    false_computation=copied
}
"""
# No copy of a constant to another layout is a constant, until no array has another.
COPY_OF_A_CONSTANT = """
HloModule m
ENTRY e {
  c = f32[2,3]{0,1} constant({{1, 2, 3}, {4, 5, 6}})
  d = f32[2,3]{1,0} copy(c)
  r = f32[2,3]{1,0} reverse(d), dimensions={1}
  ROOT t = (f32[2,3]{1,0}) tuple(r)
}
"""
# Arrays whose layouts differ in where sizes of 1 are; bitcasts between them hid the broadcasts.
SIZES_OF_ONE = """
HloModule m
ENTRY e {
  x = f32[1,2,1]{2,1,0} parameter(0)
  one = f32[] constant(1)
  ones = f32[1,2,1]{2,1,0} broadcast(one), dimensions={}
  c = (f32[1,2,1]{2,1,0}, f32[1,2,1]{2,1,0}) custom-call(x, ones), custom_call_target="C"
  y = f32[1,2,1]{2,1,0} get-tuple-element(c), index=0
  s = f32[1,2,1]{2,0,1} add(y, ones)
  u = f32[1,2,1]{1,2,0} cosine(s)
  ROOT r = f32[2]{0} reshape(u)
}
"""
# Of the fusion in place, an output that nobody uses depends on what is like its first one: merged
# with others it would lose that output, and then merge with `n`.
FUSION_IN_PLACE = """
HloModule m
in_place {
  a = f32[2,1] parameter(0)
  b = f32[2,1] parameter(1)
  s = f32[2,1] add(a, a)
  ROOT t = (f32[2,1], f32[2,1]) tuple(s, b)
}
ENTRY e {
  x = f32[2,1] parameter(0)
  n = f32[2,1] negate(x)
  c = f32[2,1] custom-call(n), custom_call_target="C"
  f = (f32[2,1], f32[2,1]) fusion(x, c), kind=kLoop, calls=in_place,
    output_to_operand_aliasing={{1}: (1, {})}
  g = f32[2,1] get-tuple-element(f), index=0
  h = f32[2,1] sine(g)
  i = f32[2,1] custom-call(h), custom_call_target="C"
  ROOT r = f32[2,1] add(i, c)
}
"""


@pytest.mark.parametrize("target", ["cpu", "gpu"])
@pytest.mark.parametrize(
    "text",
    [BRANCHES_IN_A_MAP, BRANCHES_OF_LAYOUTS, COPY_OF_A_CONSTANT, SIZES_OF_ONE, FUSION_IN_PLACE],
)
def test_nothing_is_left_to_do(text, target):
    once = optimize(hlo.parse(text), target)
    assert not {"map", "conditional", "reverse"} & {i.opcode for i in once.instructions()}
    assert nameless(as_needed(optimize(once, target))) == nameless(as_needed(once))
