"""Calls, branches, loops, and computations that run meanwhile."""

from collections import deque

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import hlo
import interpreter
from hlo.read.parse import parse


def run(text: str, *arguments: object) -> object:
    return interpreter.evaluate(parse("HloModule m\n" + text), *arguments)


BRANCHES = """
one { p = s32[] parameter(0)
  ROOT r = s32[] constant(100) }
two { p = s32[] parameter(0)
  ROOT r = s32[] add(p, p) }
three { p = s32[] parameter(0)
  ROOT r = s32[] negate(p) }
ENTRY main {
  i = s32[] parameter(0)
  a = s32[] constant(10)
  b = s32[] constant(20)
  c = s32[] constant(30)
  ROOT r = s32[] conditional(i, a, b, c), branch_computations={one, two, three}
}"""


@example(index=-1)
@example(index=0)
@example(index=1)
@example(index=2)
@example(index=3)
@given(index=st.integers(-(2**31), 2**31 - 1))
def test_a_conditional_takes_the_last_branch_for_an_index_out_of_range(index: int) -> None:
    assert run(BRANCHES, index) == {0: 100, 1: 40}.get(index, -30)


@pytest.mark.parametrize(("holds", "value"), [(True, 2), (False, 3)])
def test_a_conditional_on_pred_takes_the_first_branch_where_it_holds(
    holds: bool, value: int
) -> None:
    got = run(
        """
yes { p = s32[] parameter(0)
  ROOT r = s32[] copy(p) }
no { p = s32[] parameter(0)
  ROOT r = s32[] copy(p) }
ENTRY main {
  c = pred[] parameter(0)
  a = s32[] constant(2)
  b = s32[] constant(3)
  ROOT r = s32[] conditional(c, a, b), true_computation=yes, false_computation=no
}""",
        holds,
    )
    assert got == value


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


COLLATZ = """
going { s = (s32[], s32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  ROOT more = pred[] compare(n, one), direction=NE }
step { s = (s32[], s32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  count = s32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  two = s32[] constant(2)
  three = s32[] constant(3)
  half = s32[] divide(n, two)
  rest = s32[] remainder(n, two)
  odd = pred[] compare(rest, one), direction=EQ
  tripled = s32[] multiply(n, three)
  more = s32[] add(tripled, one)
  next = s32[] select(odd, more, half)
  counted = s32[] add(count, one)
  ROOT r = (s32[], s32[]) tuple(next, counted) }
ENTRY main {
  n = s32[] parameter(0)
  zero = s32[] constant(0)
  start = (s32[], s32[]) tuple(n, zero)
  end = (s32[], s32[]) while(start), condition=going, body=step
  ROOT steps = s32[] get-tuple-element(end), index=1
}"""


@given(n=st.integers(1, 300))
def test_a_while_runs_until_its_condition_fails(n: int) -> None:
    assert run(COLLATZ, n) == collatz(n)


@pytest.mark.parametrize("kind", ["kLoop", "kInput", "kOutput", "kCustom"])
def test_a_fusion_of_any_kind_is_its_computation(kind: str) -> None:
    got = run(
        f"""
fused {{ a = f32[3] parameter(0)
  b = f32[3] parameter(1)
  s = f32[3] subtract(a, b)
  ROOT t = (f32[3], f32[3]) tuple(s, b) }}
ENTRY main {{
  x = f32[3] parameter(0)
  y = f32[3] parameter(1)
  ROOT f = (f32[3], f32[3]) fusion(x, y), kind={kind}, calls=fused
}}""",
        *([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]),
    )
    np.testing.assert_array_equal(got, [[-2, 0, 2], [3, 2, 1]])


def test_an_async_computation_yields_its_result() -> None:
    got = run(
        """
wrapped { a = f32[2] parameter(0)
  b = f32[2] parameter(1)
  ROOT s = f32[2] subtract(a, b) }
ENTRY main {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  start = ((f32[2], f32[2]), f32[2], u32[]) async-start(x, y), calls=wrapped
  update = ((f32[2], f32[2]), f32[2], u32[]) async-update(start)
  ROOT done = f32[2] async-done(update)
}""",
        *([5.0, 6.0], [1.0, 2.0]),
    )
    np.testing.assert_array_equal(got, [4, 4])


def test_an_async_computation_runs_when_all_operands_are_there() -> None:
    got = run(
        """
computed { a = f32[2] parameter(0)
  b = f32[2] parameter(1)
  s = f32[2] subtract(a, b)
  ROOT r = (f32[2], f32[2]) tuple(s, b) }
wrapped { a = f32[2] parameter(0)
  b = f32[2] parameter(1)
  ROOT r = (f32[2], f32[2]) call(a, b), to_apply=computed }
ENTRY main {
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  start = ((), (), u32[]) async-start(), calls=wrapped
  first = ((f32[2]), (f32[2]), u32[]) async-update(start, x)
  second = ((f32[2], f32[2]), (f32[2], f32[2]), u32[]) async-update(first, y)
  ROOT done = (f32[2], f32[2]) async-done(second)
}""",
        *([5.0, 6.0], [1.0, 2.0]),
    )
    np.testing.assert_array_equal(got, [[4, 4], [1, 2]])


def test_a_computation_is_called_with_its_own_arguments() -> None:
    got = run(
        """
minus { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT d = s32[] subtract(a, b) }
ENTRY main {
  x = s32[] parameter(0)
  y = s32[] parameter(1)
  first = s32[] call(x, y), to_apply=minus
  ROOT second = s32[] call(first, x), to_apply=minus
}""",
        *(10, 3),
    )
    assert got == -3


def test_a_loop_that_changes_nothing_ends() -> None:
    got = run(
        """
forever { s = (s32[], f32[2]) parameter(0)
  ROOT yes = pred[] constant(true) }
nothing { s = (s32[], f32[2]) parameter(0)
  x = f32[2] get-tuple-element(s), index=1
  i = s32[] get-tuple-element(s), index=0
  ROOT same = (s32[], f32[2]) tuple(i, x) }
ENTRY main {
  s = (s32[], f32[2]) parameter(0)
  ROOT w = (s32[], f32[2]) while(s), condition=forever, body=nothing
}""",
        (1, [2.0, 3.0]),
    )
    assert got[0] == 1
    np.testing.assert_array_equal(got[1], [2, 3])


ENDLESS = """
forever { s = (s32[], f32[]) parameter(0)
  ROOT yes = pred[] constant(true) }
halve { s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1
  half = f32[] constant(0.5)
  y = f32[] multiply(x, half)
  ROOT next = (s32[], f32[]) tuple(i, y) }
ENTRY main {
  s = (s32[], f32[]) parameter(0)
  ROOT w = (s32[], f32[]) while(s), condition=forever, body=halve
}"""


def test_a_loop_that_never_ends_is_given_up_after_as_many_turns_as_are_allowed() -> None:
    # After 150 iterations nothing changes any more.
    module, state = parse("HloModule m\n" + ENDLESS), (7, np.float32(1))
    with pytest.raises(
        hlo.HloError, match="w: the loop has not ended after 1,000 iterations"
    ) as caught:
        interpreter.evaluate(module, state, max_iterations=1000)
    assert caught.value.code == "HLO124"
    assert caught.value.span is not None


def test_a_loop_may_take_all_of_the_turns_that_are_allowed() -> None:
    text = """HloModule m
more { i = s32[] parameter(0)
  n = s32[] constant(10)
  ROOT less = pred[] compare(i, n), direction=LT }
count { i = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT next = s32[] add(i, one) }
ENTRY main {
  s = s32[] parameter(0)
  ROOT w = s32[] while(s), condition=more, body=count
}"""
    assert interpreter.evaluate(parse(text), 0, max_iterations=10) == 10
    with pytest.raises(hlo.HloError):
        interpreter.evaluate(parse(text), 0, max_iterations=9)


def test_a_loop_asks_before_every_iteration_whether_to_go_on() -> None:
    turns = [None] * 5
    with pytest.raises(IndexError):
        interpreter.evaluate(parse("HloModule m\n" + ENDLESS), (7, np.float32(1)), ask=turns.pop)
    assert not turns


def test_a_loop_that_waits_for_something_goes_on() -> None:
    device = interpreter.Device(infeed=deque([True, True, False]))
    text = """
wait { s = s32[] parameter(0)
  tok = token[] after-all()
  in = (pred[], token[]) infeed(tok)
  ROOT more = pred[] get-tuple-element(in), index=0 }
nothing { ROOT s = s32[] parameter(0) }
ENTRY main {
  s = s32[] parameter(0)
  ROOT w = s32[] while(s), condition=wait, body=nothing
}"""
    assert interpreter.evaluate(parse("HloModule m\n" + text), 5, devices=[device]) == 5
    assert not device.infeed


def test_what_nobody_needs_does_not_run() -> None:
    text = """ENTRY main {
  x = s32[] parameter(0)
  strange = s32[] custom-call(x), custom_call_target="nobody knows it"
  above = s32[] add(strange, x)
  ROOT y = s32[] negate(x)
}"""
    assert run(text, 5) == -5


def test_what_has_an_effect_runs_though_nobody_needs_its_value() -> None:
    device = interpreter.Device()
    text = """
say { p = s32[] parameter(0)
  tok = token[] after-all()
  out = token[] outfeed(p, tok), outfeed_shape=s32[]
  ROOT r = s32[] copy(p) }
ENTRY main {
  x = s32[] parameter(0)
  said = s32[] call(x), to_apply=say
  ROOT y = s32[] negate(x)
}"""
    interpreter.evaluate(parse("HloModule m\n" + text), 5, devices=[device])
    assert device.outfeed == [5]
