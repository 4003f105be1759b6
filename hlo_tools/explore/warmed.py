"""Loads every module that a worker of `hlo explore` needs, by making one page."""

from hlo_tools.explore.work import ExploredText, shown

EXAMPLE = """HloModule example

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  x = f32[4,4] parameter(0)
  y = f32[4,4] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  one = f32[] constant(1)
  ones = f32[4,4] broadcast(one), dimensions={}
  z = f32[4,4] multiply(y, ones)
  e = f32[4,4] exponential(z)
  zero = f32[] constant(0)
  ROOT sums = f32[4] reduce(e, zero), dimensions={1}, to_apply=add
}
"""

shown(ExploredText(EXAMPLE))
