"""Calls that cut whole arrays into the parts of devices, and join them."""

import numpy as np
import pytest

import interpreter
from hlo.errors.error import HloError
from hlo.read.parse import parse
from tests.sharded import SHARDED, X, call, sum_over_y


@pytest.mark.parametrize("name", SHARDED)
def test_a_program_that_is_not_divided_has_a_value(name: str) -> None:
    module = parse(SHARDED[name].text)
    assert str(parse(str(module))) == str(module)
    wanted = SHARDED[name].value(X)
    np.testing.assert_equal(interpreter.evaluate(module, X), wanted)
    (value,) = interpreter.evaluate(module, per_device=[(X,)])
    np.testing.assert_equal(value, wanted)
    for value in interpreter.evaluate(module, per_device=[(X,)] * 8):
        np.testing.assert_equal(value, wanted)


def test_each_replica_has_its_own_partitions() -> None:
    text = sum_over_y.text.replace("HloModule m", "HloModule m, replica_count=2, num_partitions=8")
    text = text.replace("{4,5,6,7}}", "{4,5,6,7},{8,9,10,11},{12,13,14,15}}")
    given = [(X,)] * 8 + [(2 * X,)] * 8
    values = interpreter.evaluate(parse(text), per_device=given)
    np.testing.assert_equal(values[7], sum_over_y.value(X))
    np.testing.assert_equal(values[8], sum_over_y.value(2 * X))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("<@mesh, [{\\\"x\\\"}, {\\\"y\\\"}]>", "<@mish, [{\\\"x\\\"}]>", "no mesh @mish"),
        ("{\\\"y\\\"}]>", "{\\\"z\\\"}]>", 'no axis "z"'),
        ("{\\\"y\\\"}]>", "{\\\"y\\\":(3)2}]>", "no such part"),
        ("{\\\"y\\\"}]>", "{}]>", "does not cut f32[8,8] into f32[4,2]"),
        ("{\\\"y\\\"}]>", "{}], unreduced={\\\"y\\\"}>", "unreduced"),
        ("xla.sdy.manual_axes", "xla.sdy.automatic_axes", "no frontend attribute"),
        ("[{\\\"x\\\"}, {\\\"y\\\"}]>", "[]>, <@mesh, []>", "2 shardings of 1 value"),
        ('"y"=4]>, ', '"y"=4000000]>, ', "from 1 to 1048576 devices"),
        ("device_ids=[7, ", "device_ids=[7, 9, ", "of 8 devices names 9"),
        ("device_ids=[7, ", "device_ids=[9, ", "a mesh of 8 devices leaves out device 7"),
        ("device_ids=[7, ", "device_ids=[0, ", "a mesh of 8 devices leaves out device 7"),
    ],
)  # fmt: skip
def test_a_cut_that_is_none_is_refused(old: str, new: str, told: str) -> None:
    assert old in sum_over_y.text
    with pytest.raises(HloError) as caught:
        interpreter.evaluate(parse(sum_over_y.text.replace(old, new, 1)), X)
    assert told in str(caught.value)
    assert caught.value.code == "HLO122"
    assert caught.value.span


@pytest.mark.parametrize("partitions", [2, 8])
@pytest.mark.parametrize("given", [1, "all"])
def test_a_mesh_of_other_devices_than_the_module_has_is_refused(partitions, given) -> None:
    """Devices without a part have nothing to give, and those that do not exist never come."""
    shardings, axes = '<@mesh, [{"x"}]>', '"x"'
    text = f"""HloModule m, num_partitions={partitions}, frontend_attributes={{
      xla.sdy.meshes={{mesh = #sdy.mesh<["x"=4]>}}}}

    ENTRY e {{
      p = f32[8] parameter(0)
      part = {call("in", "p", "f32[2]", shardings, axes)}
      ROOT r = {call("out", "part", "f32[8]", shardings, axes)}
    }}"""
    message = f"part: its sharding is for 4 of {partitions} devices"
    with pytest.raises(HloError, match=message) as caught:
        interpreter.evaluate(
            parse(text), per_device=[(X[0],)] * (given if given == 1 else partitions)
        )
    assert caught.value.code == "HLO122"
    assert caught.value.span.line == 6
