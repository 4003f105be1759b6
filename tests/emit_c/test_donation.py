"""Arguments whose memory results may take: only where it was asked for, and nobody else has it."""

import ml_dtypes
import numpy as np
import pytest

import emit_c
import hlo

pytestmark = pytest.mark.usefixtures("way")

DONATED = """HloModule m, input_output_alias={ {1}: (0, {}, may-alias) }
ENTRY e {
  x = f32[300,100] parameter(0)
  y = f32[300,100] parameter(1)
  w = f32[100,300] reshape(x)
  t = f32[300,100] transpose(w), dimensions={1,0}
  s = f32[300,100] add(x, y)
  d = f32[300,100] subtract(t, y)
  ROOT r = (f32[300,100], f32[300,100]) tuple(s, d)
}"""


def donated(x, y):
    """The right results."""
    return x + y, x.reshape(100, 300).T - y


def pair():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(300, 100)).astype(np.float32) for _ in range(2)]


@pytest.mark.parametrize("optimize", [False, True])
def test_a_result_takes_donated_memory(way, optimize):
    executable = emit_c.compile(hlo.parse(DONATED), optimize=optimize, donate=True)
    x, y = pair()
    want = donated(x, y)
    found = executable(x, y)
    assert all((f == w).all() for f, w in zip(found, want, strict=True))
    if way == "trampoline":
        assert np.shares_memory(found[1], x)
        assert not np.shares_memory(found[0], x)
        assert found[1].base is x
    assert (y == pair()[1]).all()


def test_memory_is_not_taken_twice_nor_from_what_cannot_be_written():
    executable = emit_c.compile(hlo.parse(DONATED), donate=True)
    x, _ = pair()
    want = donated(x, x)
    assert all((f == w).all() for f, w in zip(executable(x, x), want, strict=True))
    fixed, y = pair()
    fixed.flags.writeable = False
    want = donated(fixed, y)
    assert all((f == w).all() for f, w in zip(executable(fixed, y), want, strict=True))
    assert (fixed == pair()[0]).all()


def test_nothing_is_donated_unless_asked_for():
    x, y = pair()
    emit_c.compile(hlo.parse(DONATED))(x, y)
    assert (x == pair()[0]).all()


BUFFER_DONOR = """HloModule m, buffer_donor={ (0, {}) }
ENTRY e {
  x = f32[6] parameter(0)
  ROOT r = f32[6] negate(x)
}"""


@pytest.mark.parametrize("optimize", [False, True])
def test_no_donor_gives_its_memory_unless_asked_for(optimize):
    x = np.arange(6, dtype=np.float32)
    found = emit_c.compile(hlo.parse(BUFFER_DONOR), optimize=optimize)(x)
    assert (found == -np.arange(6)).all()
    assert (x == np.arange(6)).all()


def test_a_donor_gives_its_memory(way):
    x = np.arange(6, dtype=np.float32)
    found = emit_c.compile(hlo.parse(BUFFER_DONOR), donate=True)(x)
    assert (found == -np.arange(6)).all()
    assert way != "trampoline" or np.shares_memory(found, x)


REVERSED = """HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY e {
  x = f32[1000] parameter(0)
  y = f32[1000] parameter(1)
  z = f32[1000] reverse(y), dimensions={0}
  ROOT r = f32[1000] add(x, z)
}"""


@pytest.mark.parametrize("first", [0, 1, 500, 999, 1000])
def test_memory_is_not_taken_where_another_argument_has_a_part_of_it(way, first):
    executable = emit_c.compile(hlo.parse(REVERSED), donate=True)
    both = np.arange(2000, dtype=np.float32)
    x, y = both[first : first + 1000], both[:1000]
    want = x + y[::-1]
    found = executable(x, y)
    assert (found == want).all()
    assert np.shares_memory(found, x) == (first == 1000 and way == "trampoline")
    both = np.arange(2000, dtype=np.float32)
    x, y = both[first : first + 1000], both[:1000]
    want = y + x[::-1]
    assert (executable(y, x) == want).all()


SMALL_NUMBERS = """HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY e {
  x = s4[40] parameter(0)
  y = s4[40] reverse(x), dimensions={0}
  ROOT r = s4[40] add(y, x)
}"""


def test_donated_numbers_that_take_less_than_a_byte_are_copied_whole():
    x = (np.arange(40) % 16 - 8).astype(ml_dtypes.int4)
    want = x[::-1] + x
    x.flags.writeable = False
    assert (emit_c.compile(hlo.parse(SMALL_NUMBERS), donate=True)(x) == want).all()


HANDED_ON = """HloModule m, input_output_alias={ {}: (1, {}, may-alias) }
condition {
  s = (s32[], f32[3,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[3,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[3,3] get-tuple-element(s), index=1
  j = s32[] add(i, i)
  ROOT t = (s32[], f32[3,3]) tuple(j, x)
}
ENTRY e {
  i = s32[] parameter(0)
  x = f32[3,3] parameter(1)
  z = f32[3,3] parameter(2)
  t = (s32[], f32[3,3]) tuple(i, x)
  l = (s32[], f32[3,3]) while(t), condition=condition, body=body
  c = f32[3,3] get-tuple-element(l), index=1
  b = f32[3,3] broadcast(c), dimensions={1,0}
  ROOT y = f32[3,3] add(b, z)
}"""


@pytest.mark.parametrize("optimize", [False, True])
def test_a_result_waits_for_what_is_read_under_another_name(optimize):
    """The sum reads the donated array across, by a broadcast of what a loop hands on unchanged."""
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    executable = emit_c.compile(hlo.parse(HANDED_ON), optimize=optimize, donate=True)
    found = executable(np.int32(1), x.copy(), np.zeros((3, 3), np.float32))
    assert (found == x.T).all()
