"""No two values that are needed at one moment share bytes; and what proves it can't be fooled."""

from random import Random

import pytest
from hypothesis import settings
from strategies.loops import busy_module

import hlo
from hlo.errors.error import HloError
from hlo_tools.generate.modules import random_module
from optimizer import Log
from optimizer.memory.buffer_assignment import AllocationSlice, assign, block
from optimizer.memory.buffers import Buffers
from optimizer.memory.check import check
from optimizer.memory.copy_insertion import CopyInsertion


def modules():
    """Random modules of all opcodes, and such as keep memory busy, with their copies."""
    for seed in range(settings.default.max_examples):
        yield CopyInsertion().run(random_module(Random(f"buffers/{seed}")), Log())
        for more in range(3):
            yield CopyInsertion().run(busy_module(Random(f"buffers/{seed}/{more}")), Log())


def test_nothing_is_overwritten_while_it_is_needed():
    for module in modules():
        check(assign(module))


def test_overlaps_are_caught():
    """Moving a buffer over one that is needed at the same time does not pass the check."""
    planted = 0
    for module in modules():
        assignment = assign(module)
        own = [b for b in assignment.buffers if _is_read(assignment, b)]
        pairs = [(x, y) for x in own for y in own if x is not y and block(x).meets(block(y))]
        for moved, other in pairs[:3]:
            was, there = assignment._of[moved], assignment._of[other]
            assignment._of[moved] = AllocationSlice(there.allocation, there.offset, was.size)
            with pytest.raises(HloError, match="HLO172"):
                check(assignment)
            assignment._of[moved] = was
            planted += 1
    assert planted > 50


def _is_read(assignment, buffer):
    """Whether a buffer lies in the arena, and each of its values is read after it is made."""
    temporary = assignment._of[buffer].allocation.is_temporary
    lives = all(v.kind == "result" and v.live[-1][1] > v.time for v in buffer.values)
    return temporary and buffer.bytes > 0 and lives


def test_what_needs_copies_is_refused():
    text = "HloModule m\nENTRY e {\n  ROOT x = f32[4] parameter(0)\n}"
    with pytest.raises(HloError, match="HLO171"):
        assign(hlo.parse(text))


def test_shared_computations_are_refused():
    text = """HloModule m
f { ROOT p = f32[] parameter(0) }
ENTRY e {
  x = f32[] parameter(0)
  y = f32[] call(x), to_apply=f
  ROOT z = f32[] call(y), to_apply=f
}"""
    with pytest.raises(HloError, match="HLO170"):
        Buffers(hlo.parse(text))


def assigned(lines, header=""):
    text = f"HloModule m{header}\nENTRY e {{\n{lines}\n}}"
    return assign(CopyInsertion().run(hlo.parse(text), Log()))


def test_elementwise_chains_take_the_memory_of_the_result():
    found = assigned("""x = f32[100] parameter(0)
      a = f32[100] negate(x)
      b = f32[100] exponential(a)
      c = f32[100] add(b, b)
      ROOT d = f32[100] tanh(c)""")
    assert found.temporary_bytes == 0
    assert len(found.allocations) == 2


def test_what_is_read_elsewhere_keeps_its_place():
    found = assigned("""x = f32[128] parameter(0)
      a = f32[128] negate(x)
      b = f32[128] reverse(a), dimensions={0}
      ROOT d = f32[128] add(a, b)""")
    assert found.temporary_bytes == 512  # a or b; the other one is the result's


def test_temporaries_may_lie_where_results_will_be():
    found = assigned("""x = f32[128,4] parameter(0)
      a = f32[128,4] negate(x)
      zero = f32[] constant(0)
      b = f32[4,128] transpose(a), dimensions={1,0}
      c = f32[64,8] reshape(b)
      d = f32[8,64] transpose(c), dimensions={1,0}
      ROOT e = f32[16,32] reshape(d)""")
    assert found.temporary_bytes == 2048  # b, since a lies where d will be


def test_donated_parameters_hold_the_result():
    header = ", input_output_alias={ {}: (0, {}, may-alias) }"
    found = assigned("x = f32[8] parameter(0)\nROOT y = f32[8] negate(x)", header)
    (allocation,) = found.allocations
    assert (allocation.parameter, allocation.output) == (0, 0)


def test_fewer_than_all_bytes_at_once():
    """The arena is never larger than if every buffer had bytes of its own."""
    for module in modules():
        found = assign(module)
        arena = [b for a in found.allocations if a.is_temporary for b in a.buffers]
        assert found.temporary_bytes <= sum(-(-b.bytes // 64) * 64 for b in arena)


ADAM = """HloModule m, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }
fused {
  w = f32[128] parameter(0)
  m = f32[128] parameter(1)
  g = f32[128] parameter(2)
  n = f32[128] add(m, g)
  x = f32[128] subtract(w, n)
  ROOT t = (f32[128], f32[128]) tuple(x, n)
}
ENTRY e {
  w = f32[128] parameter(0)
  m = f32[128] parameter(1)
  h = f32[128] parameter(2)
  g = f32[128] negate(h)
  ROOT f = (f32[128], f32[128]) fusion(w, m, g), kind=kLoop, calls=fused
}"""


def test_results_of_one_loop_take_the_places_of_what_it_reads():
    module = hlo.parse(ADAM)
    assert CopyInsertion().run(module, Log()) is module
    found = assign(module)
    check(found)
    assert found.temporary_bytes == 512  # g


def test_results_that_are_folded_in_between_do_not():
    fold = "zero = f32[] constant(0)\n  r = f32[] reduce(g, zero), dimensions={0}, to_apply=add"
    summed = "s = f32[128] broadcast(r), dimensions={}\n  x = f32[128] subtract(w, s)"
    summed += "\n  y = f32[128] add(x, n)"
    text = ADAM.replace("x = f32[128] subtract(w, n)", f"{fold}\n  {summed}")
    text = text.replace("tuple(x, n)", "tuple(y, n)").replace(
        "fused {",
        "add { p = f32[] parameter(0)  q = f32[] parameter(1)\nROOT s = f32[] add(p, q) }\nfused {",
    )
    # The second result reads m, and so does the first, which may be written before that.
    copied = CopyInsertion().run(hlo.parse(text), Log())
    assert sum(i.opcode == "copy" for i in copied.instructions()) == 1
    check(assign(copied))


def test_a_reshape_inside_a_loop_moves_nothing():
    text = """HloModule m
fused {
  x = f32[4,32] parameter(0)
  b = f32[2,2,32] bitcast(x)
  ROOT n = f32[2,2,32] tanh(b)
}
ENTRY e {
  a = f32[4,32] parameter(0)
  x = f32[4,32] negate(a)
  y = f32[2,2,32] fusion(x), kind=kLoop, calls=fused
  ROOT r = f32[2,32,2] transpose(y), dimensions={0,2,1}
}"""
    found = assign(hlo.parse(text))
    check(found)
    assert found.temporary_bytes == 512  # x, and y over it
