"""Loads all that a worker of `hlo explore` needs, by making pages before the first text comes."""

from __future__ import annotations

import gc
from typing import Final

from hlo_tools.explore.work import ExploredText, shown
from hlo_tools.trace.rules import evidence, known_rules
from hlo_tools.trace.source import source_of

MODULE: Final = """HloModule example

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
  part = f32[2,4] slice(e), slice={[0:2], [0:4]}
  same = pred[2,4] compare(part, part), direction=EQ
  least = f32[] constant(-inf)
  low = f32[2,4] broadcast(least), dimensions={}
  kept = f32[2,4] select(same, part, low)
  zero = f32[] constant(0)
  ROOT sums = f32[2] reduce(kept, zero), dimensions={1}, to_apply=add
}
"""
STABLEHLO: Final = """func.func @main(%x: tensor<4x8xf32>, %y: tensor<8x3xf32>) -> tensor<4x3xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
    : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
"""
# A word that is no opcode, an operand that is nowhere, and a text that ends too early.
WRONG: Final = "HloModule wrong\nENTRY e { a = f32[3] parameters(0) ROOT b = f32[3] add(a, c"

for text in (MODULE, STABLEHLO, WRONG):
    shown(ExploredText(text))
shown(ExploredText(MODULE, target="gpu"))
for rule in known_rules():
    evidence(rule)
    source_of(rule.location, whole=True)
# A worker that looks for garbage would copy all pages of memory that it shares.
gc.collect()
gc.freeze()
