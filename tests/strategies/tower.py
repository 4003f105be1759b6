"""Modules of many hundred instructions in which everything hangs together, one layer on the other.

A layer is what a small transformer's has, with a loop, a branch, a gather, a sort and a window
besides. Values stay small, so that what is wrong in the first layer can still be seen in the last.
"""

from random import Random

import numpy as np

import hlo
from hlo.instruction import Module

HEAD = """HloModule tower

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

largest {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}

smaller {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}

iterations {
  s = (s32[], f32[6,8]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  ROOT go = pred[] compare(n, three), direction=LT
}

iteration {
  s = (s32[], f32[6,8]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  x = f32[6,8] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(n, one)
  half = f32[] constant(0.5)
  halves = f32[6,8] broadcast(half), dimensions={}
  y = f32[6,8] multiply(x, halves)
  z = f32[6,8] sine(y)
  ROOT t = (s32[], f32[6,8]) tuple(next, z)
}

yes {
  x = f32[6,8] parameter(0)
  ROOT y = f32[6,8] tanh(x)
}

no {
  x = f32[6,8] parameter(0)
  ROOT y = f32[6,8] negate(x)
}

ENTRY main {
  x0 = f32[6,8] parameter(0)
  w = f32[8,8] parameter(1)
  where = s32[6,1] parameter(2)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  zeros = f32[6,8] broadcast(zero), dimensions={}
  nothing = s32[] constant(0)
  quarter = f32[] constant(0.25)
  quarters = f32[6,8] broadcast(quarter), dimensions={}
  one = f32[] constant(1)
  ones = f32[6,8] broadcast(one), dimensions={}
"""
LAYER = """
  product@ = f32[6,8] dot(x@, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  scaled@ = f32[6,8] multiply(product@, quarters)
  turned@ = f32[8,6] transpose(scaled@), dimensions={1,0}
  scores@ = f32[6,6] dot(scaled@, turned@), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  top@ = f32[6] reduce(scores@, low), dimensions={1}, to_apply=largest
  tops@ = f32[6,6] broadcast(top@), dimensions={0}
  centred@ = f32[6,6] subtract(scores@, tops@)
  exps@ = f32[6,6] exponential(centred@)
  total@ = f32[6] reduce(exps@, zero), dimensions={1}, to_apply=sum
  totals@ = f32[6,6] broadcast(total@), dimensions={0}
  weights@ = f32[6,6] divide(exps@, totals@)
  mixed@ = f32[6,8] dot(weights@, scaled@), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  shifted@ = f32[6,8] add(mixed@, quarters)
  bounded@ = f32[6,8] clamp(quarters, shifted@, ones)
  positive@ = pred[6,8] compare(scaled@, zeros), direction=GT
  chosen@ = f32[6,8] select(positive@, bounded@, scaled@)
  again@ = f32[8,6] transpose(chosen@), dimensions={1,0}
  rows@ = f32[6,8] transpose(again@), dimensions={1,0}
  left@ = f32[6,3] slice(rows@), slice={[0:6], [0:3]}
  right@ = f32[6,5] slice(rows@), slice={[0:6], [3:8]}
  joined@ = f32[6,8] concatenate(right@, left@), dimensions={1}
  inner@ = f32[4,6] slice(joined@), slice={[1:5], [2:8]}
  padded@ = f32[6,8] pad(inner@, zero), padding=2_0x0_2
  taken@ = f32[6,8] gather(joined@, where), offset_dims={1},
    collapsed_slice_dims={0}, start_index_map={0},
    index_vector_dim=1, slice_sizes={1,8}
  added@ = f32[6,8] add(padded@, taken@)
  ordered@ = f32[6,8] sort(added@), dimensions={1}, to_apply=smaller
  window@ = f32[6,8] reduce-window(ordered@, low), window={size=1x3 pad=0_0x0_2}, to_apply=largest
  state@ = (s32[], f32[6,8]) tuple(nothing, window@)
  loop@ = (s32[], f32[6,8]) while(state@), condition=iterations, body=iteration
  looped@ = f32[6,8] get-tuple-element(loop@), index=1
  first@ = f32[1,1] slice(looped@), slice={[0:1], [0:1]}
  number@ = f32[] reshape(first@)
  is@ = pred[] compare(number@, quarter), direction=LT
  branched@ = f32[6,8] conditional(is@, looped@, window@), true_computation=yes,
    false_computation=no
  backwards@ = f32[6,8] reverse(branched@), dimensions={1}
  once@ = f32[48] reshape(backwards@)
  twice@ = f32[6,8] reshape(once@)
  minus@ = f32[6,8] negate(twice@)
  size@ = f32[6,8] abs(minus@)
  x+ = f32[6,8] subtract(size@, scaled@)
"""


def tower(layers: int = 14) -> tuple[Module, list[np.ndarray]]:
    """A module, and arguments for it; each layer has 40 instructions."""
    text = [HEAD]
    text += [LAYER.replace("@", str(n)).replace("+", str(n + 1)) for n in range(layers)]
    text.append(f"\n  ROOT result = f32[6,8] multiply(x{layers}, ones)\n}}\n")
    random = np.random.default_rng(Random(0).getrandbits(32))
    given = [
        random.standard_normal((6, 8)).astype(np.float32),
        random.standard_normal((8, 8)).astype(np.float32),
        random.integers(0, 6, (6, 1)).astype(np.int32),
    ]
    return hlo.parse("".join(text)), given
