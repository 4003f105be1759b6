"""Collectives that cannot be: deadlocks, mismatches and wrong groups, beside what they say."""

import numpy as np
import pytest
from devices import data, entry, run

import interpreter
from hlo.errors.error import HloError
from hlo.read.parse import parse


def failing(text: str, devices: int, **grid: int) -> HloError:
    with pytest.raises(HloError) as caught:
        run(text, data(devices), **grid)
    return caught.value


ALONE = """
together { p = s32[4] parameter(0)
  ROOT r = s32[4] all-reduce(p), to_apply=add }
apart { p = s32[4] parameter(0)
  ROOT r = s32[4] negate(p) }
ENTRY main {
  x = s32[4] parameter(0)
  me = u32[] replica-id()
  zero = u32[] constant(0)
  first = pred[] compare(me, zero), direction=EQ
  ROOT r = s32[4] conditional(first, x, x), true_computation=together, false_computation=apart
}"""


def test_a_deadlock_says_who_waits_for_whom() -> None:
    error = failing(ALONE, 2, replicas=2)
    assert error.code == "HLO117"
    assert error.span.line == 7
    assert "all-reduce %r" in error.notes[0]
    assert "devices 0, 1" in error.notes[0]
    assert error.notes[1] == "device 1 has finished"


def test_two_branches_can_meet() -> None:
    text = ALONE.replace("negate(p)", "all-reduce(p), to_apply=add")
    got = run(text, data(2), replicas=2)
    np.testing.assert_array_equal(got, [data(2)[0] + data(2)[1]] * 2)


def test_devices_that_meet_must_do_the_same() -> None:
    text = ALONE.replace("negate(p)", "collective-permute(p), source_target_pairs={{0,1}}")
    error = failing(text, 2, replicas=2)
    assert error.code == "HLO118"
    assert any("all-reduce" in note for note in error.notes)
    assert any("collective-permute" in note for note in error.notes)


@pytest.mark.parametrize(
    ("groups", "message"), [("{{0,1,2}}", "number 2"), ("{{0}}", "device 1 is in no group")]
)
def test_groups_must_fit_the_devices(groups: str, message: str) -> None:
    text = entry(f"s32[4] all-reduce(x), replica_groups={groups}, to_apply=add")
    error = failing(text, 2)
    assert error.code == "HLO119"
    assert message in error.message


def test_an_error_on_one_device_ends_all_of_them() -> None:
    def failing_on_device_1(frame: interpreter.Frame, *_: object) -> object:
        if frame.device.number == 1:
            raise HloError("HLO100", "device 1 fails")
        return np.array(0, np.uint32)

    with interpreter.evaluates.replaced("replica-id", failing_on_device_1):
        error = failing(ALONE, 2, replicas=2)
    assert error.message == "device 1 fails"


@pytest.mark.parametrize("devices", [3, 5])
def test_the_number_of_devices_must_fit_the_header(devices: int) -> None:
    text = entry("s32[4] all-reduce(x), to_apply=add")
    assert failing(text, devices, partitions=2).code == "HLO116"


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        ("s32[8] all-gather(x), dimensions={0}", r"groups of 1 make s32\[4\], not s32\[8\]"),
        ("s32[2] reduce-scatter(x), dimensions={0}, to_apply=add", r"make s32\[4\], not s32\[2\]"),
        ("s32[4] reduce-scatter(x), dimensions={0}, to_apply=add", "has no 3 pieces"),
        ("s32[4] all-to-all(x), dimensions={0}", "has no 3 pieces"),
        ("(s32[4], s32[4]) all-to-all(x, x)", "groups of 3 exchange 3 pieces, not 2"),
    ],
)
def test_groups_of_another_size_than_the_module_was_written_for(
    instruction: str, message: str
) -> None:
    devices = 3 if " 3 " in message else 1
    with pytest.raises(HloError, match=message) as caught:
        run(entry(instruction), data(devices))
    assert caught.value.code == "HLO119"


@pytest.mark.parametrize(
    ("start", "size", "target"), [(3, 2, 0), (0, 2, 3), (-1, 1, 0), (0, -1, 0)]
)
def test_ragged_slices_lie_in_their_arrays(start: int, size: int, target: int) -> None:
    text = f"""ENTRY main {{
  x = s32[4] parameter(0)
  b = s32[1] constant({{{start}}})
  n = s32[1] constant({{{size}}})
  t = s32[1] constant({{{target}}})
  ROOT r = s32[4] ragged-all-to-all(x, x, b, n, t, n), replica_groups={{}}
}}"""
    with pytest.raises(HloError, match="rows from") as caught:
        run(text, data(1))
    assert caught.value.code == "HLO123"


def test_slices_that_the_group_does_not_divide_are_refused() -> None:
    module = parse("""HloModule m, replica_count=3
ENTRY e {
  x = f32[16] parameter(0)
  o = f32[16] parameter(1)
  i = s64[16] parameter(2)
  ROOT r = f32[16] ragged-all-to-all(x, o, i, i, i, i), replica_groups={}
}""")
    own = (np.zeros(16, np.float32), np.zeros(16, np.float32), np.zeros(16, np.int64))
    with pytest.raises(HloError, match="16 slices for a group of 3 devices") as caught:
        interpreter.evaluate(module, per_device=[own] * 3)
    assert caught.value.code == "HLO119"


@pytest.mark.parametrize("own", [None, 3, np.zeros(3)])
def test_each_device_takes_a_tuple_of_arguments(own: object) -> None:
    module = parse("HloModule m, replica_count=2\nENTRY e {\n  ROOT x = f32[3] parameter(0)\n}")
    with pytest.raises(HloError, match="takes a tuple of arguments") as caught:
        interpreter.evaluate(module, per_device=[own] * 2)  # type: ignore[list-item]
    assert caught.value.code == "HLO110"
