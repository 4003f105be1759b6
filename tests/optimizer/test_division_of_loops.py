"""Loops that keep parts of arrays in their state."""

from collections import Counter

import hlo
from tests.sharded import check, values

# Three layers, one after the other; each matrix is cut as in `test_division`.
LAYERS = """HloModule m, num_partitions=4
condition {
  s = (s32[], f32[6,8], f32[3,8,16], f32[3,16,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[6,8], f32[3,8,16], f32[3,16,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[6,8] get-tuple-element(s), index=1
  ups = f32[3,8,16] get-tuple-element(s), index=2
  downs = f32[3,16,8] get-tuple-element(s), index=3
  one = s32[] constant(1)
  o = s32[] constant(0)
  next = s32[] add(i, one)
  u = f32[1,8,16] dynamic-slice(ups, i, o, o), dynamic_slice_sizes={1,8,16}
  up = f32[8,16] reshape(u)
  d = f32[1,16,8] dynamic-slice(downs, i, o, o), dynamic_slice_sizes={1,16,8}
  down = f32[16,8] reshape(d)
  h = f32[6,16] dot(x, up), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[6,16] tanh(h)
  y = f32[6,8] dot(t, down), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = (s32[], f32[6,8], f32[3,8,16], f32[3,16,8]) tuple(next, y, ups, downs)
}
ENTRY e {
  x = f32[6,8] parameter(0), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
  ups = f32[3,8,16] parameter(1),
    sharding={devices=[1,1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}
  downs = f32[3,16,8] parameter(2),
    sharding={devices=[1,2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}
  o = s32[] constant(0)
  start = (s32[], f32[6,8], f32[3,8,16], f32[3,16,8]) tuple(o, x, ups, downs)
  end = (s32[], f32[6,8], f32[3,8,16], f32[3,16,8]) while(start), condition=condition, body=body
  ROOT y = f32[6,8] get-tuple-element(end), index=1,
    sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
}"""


def test_each_layer_communicates_once() -> None:
    module = hlo.parse(LAYERS)
    made = check(module, values(module))
    (loop,) = (i for i in made.entry.instructions if i.opcode == "while")
    assert str(loop.shape).startswith(
        "(s32[], f32[3,8]{1,0}, f32[3,8,8]{2,1,0}, f32[3,8,8]{2,1,0})"
    )
    opcodes = Counter(i.opcode for i in loop.called[1].instructions)
    assert (opcodes["dot"], opcodes["all-reduce"], opcodes["all-gather"]) == (2, 1, 0)


# A sum of rows of x, which begins with zeros that each device has whole.
SUMS = """HloModule m, num_partitions=4
condition {
  s = (s32[], f32[8], f32[3,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[8], f32[3,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  sum = f32[8] get-tuple-element(s), index=1
  x = f32[3,8] get-tuple-element(s), index=2
  one = s32[] constant(1)
  o = s32[] constant(0)
  next = s32[] add(i, one)
  row = f32[1,8] dynamic-slice(x, i, o), dynamic_slice_sizes={1,8}
  flat = f32[8] reshape(row)
  more = f32[8] add(sum, flat)
  ROOT r = (s32[], f32[8], f32[3,8]) tuple(next, more, x)
}
ENTRY e {
  x = f32[3,8] parameter(0), sharding={devices=[1,4]<=[4]}
  o = s32[] constant(0)
  zero = f32[] constant(0)
  zeros = f32[8] broadcast(zero), dimensions={}
  start = (s32[], f32[8], f32[3,8]) tuple(o, zeros, x)
  end = (s32[], f32[8], f32[3,8]) while(start), condition=condition, body=body
  ROOT sum = f32[8] get-tuple-element(end), index=1, sharding={devices=[4]<=[4]}
}"""


def test_an_initial_value_is_cut_as_the_body_cuts_it() -> None:
    module = hlo.parse(SUMS)
    made = check(module, values(module))
    (loop,) = (i for i in made.entry.instructions if i.opcode == "while")
    assert [e.dims for e in loop.shape.elements] == [(), (2,), (3, 2)]
    assert not [i for i in made.instructions() if i.row.traits & {"collective"}]


def test_a_body_cuts_anew_what_it_gives_otherwise() -> None:
    text = SUMS.replace("more = f32[8] add(sum, flat)", "plus = f32[8] add(sum, flat)\n"
                        "  more = f32[8] reverse(plus), dimensions={0}")  # fmt: skip
    module = hlo.parse(text)
    made = check(module, values(module))
    (loop,) = (i for i in made.entry.instructions if i.opcode == "while")
    assert "collective-permute" in {i.opcode for i in loop.called[1].instructions}


def test_a_condition_may_need_the_whole_of_an_array() -> None:
    text = SUMS.replace(
        "ROOT c = pred[] compare(i, n), direction=LT",
        "x = f32[3,8] get-tuple-element(s), index=2\n"
        "  first = f32[1,1] slice(x), slice={[2:3], [7:8]}\n"
        "  scalar = f32[] reshape(first)\n  no = f32[] constant(-1)\n"
        "  more = pred[] compare(scalar, no), direction=GT\n"
        "  less = pred[] compare(i, n), direction=LT\n  ROOT c = pred[] and(less, more)",
    )
    module = hlo.parse(text)
    made = check(module, values(module))
    (loop,) = (i for i in made.entry.instructions if i.opcode == "while")
    assert "all-gather" in {i.opcode for i in loop.called[0].instructions}


def test_a_loop_may_give_its_state_as_one_value() -> None:
    text = SUMS.replace(
        "ROOT r = (s32[], f32[8], f32[3,8]) tuple(next, more, x)",
        "other = (s32[], f32[8], f32[3,8]) tuple(next, more, x)\n"
        "  late = pred[] compare(i, one), direction=GT\n"
        "  ROOT r = (s32[], f32[8], f32[3,8]) conditional(late, other, other), "
        "true_computation=same, false_computation=same",
    ).replace("condition {", """same { ROOT p = (s32[], f32[8], f32[3,8]) parameter(0) }
condition {""")  # fmt: skip
    module = hlo.parse(text)
    made = check(module, values(module))
    (loop,) = (i for i in made.entry.instructions if i.opcode == "while")
    assert loop.shape.elements[2].dims == (3, 2)
