"""The dialects of StableHLO's own tests: checks while a program runs, probes, grids of devices."""

import numpy as np
import pytest

import emit_c
import hlo
import interpreter
from hlo.frontends import stablehlo
from interpreter.engine.device import Device


def run(text, **options):
    module = stablehlo.parse(text)
    hlo.verify(module)
    assert str(hlo.parse(str(module))) == str(module)
    return interpreter.evaluate(module, **options)


def main(*lines, kind="2xf32"):
    body = "\n".join(f"  {line}" for line in lines)
    text = f"func.func @main() {{\n{body}\n  func.return\n}}"
    return text.replace("T", f"tensor<{kind}>").replace("= const ", "= stablehlo.constant ")


@pytest.mark.parametrize(
    "lines",
    [
        ("%a = const dense<[1.0, 2.0]> : T", "%b = stablehlo.add %a, %a : T",
         "check.expect_eq_const %b, dense<[2.0, 4.0]> : T"),
        ("%a = const dense<[-0.0, 0x7F800000]> : T", "%b = const dense<[0.0, 0x7F800000]> : T",
         "check.expect_eq %a, %b : T"),
        ("%a = const dense<[1.0, 0x7FC00000]> : T", "%b = const dense<[1.00005, 0x7FC00000]> : T",
         "check.expect_almost_eq %a, %b : T"),
        ("%a = const dense<[1.0, 2.0]> : T",
         "check.expect_almost_eq_const %a, dense<[1.05, 1.95]> : T, tolerance = 0.1"),
        ("%a = const dense<[1.0, 2.0]> : T", '"check.expect_almost_eq_const"(%a)',
         "<{value = dense<[1.05, 1.95]> : T, tolerance = 0.1 : f64}> : (T) -> ()"),
        ("%a = const dense<[1.0, -0.0]> : T", "%b = const dense<[0x3F800001, 0x00000001]> : T",
         "check.expect_close %a, %b, max_ulp_difference = 1 : T, T"),
        ("%a = const dense<[1.0, 1.0]> : T", "%b = const dense<[0x3F800003, 0x3F7FFFFD]> : T",
         "check.expect_close %a, %b, max_ulp_difference = 3, min_ulp_difference = 3 : T, T"),
        ("%a = const dense<[1.0, 0x7FC00000]> : T", "%b = const dense<[1.0, 0xFFC00000]> : T",
         "stablehlo.custom_call @check.expect_close(%a, %b) {has_side_effect = true}",
         ": (T, T) -> ()"),
        ("%a = const dense<[1.0, 2.0]> : T", '%b = interpreter.probe %a, probe_id = "p/0" : T',
         'check.expect_serialized_eq %b, probe_id = "p/0" : T'),
    ],
)  # fmt: skip
def test_what_is_alike_passes(lines):
    assert run(main(*lines)) == ()


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (("%a = const dense<[1.0, 2.0]> : T", "check.expect_eq_const %a, dense<[1.0, 3.0]> : T"),
         "at [1]: 2.0, expected 3.0"),
        (("%a = const dense<[1.0, 0x7FC00000]> : T", "check.expect_eq %a, %a : T"),
         "at [1]: nan, expected nan"),
        (("%a = const dense<[1.0, 2.0]> : T",
          "check.expect_almost_eq_const %a, dense<[1.0, 2.001]> : T"), "at [1]: 2.0, expected"),
        (("%a = const dense<[0x7F800000, 2.0]> : T",
          "check.expect_almost_eq_const %a, dense<[3.0, 2.0]> : T, tolerance = 9.0"),
         "at [0]: inf, expected 3.0"),
        (("%a = const dense<[1.0, 2.0]> : T", "%b = const dense<[0x3F800002, 2.0]> : T",
          "check.expect_close %a, %b, max_ulp_difference = 1 : T, T"), "at [0]: 1.0"),
        (("%a = const dense<[0x7F800000, 2.0]> : T", "%b = const dense<[0x7F7FFFFF, 2.0]> : T",
          "check.expect_close %a, %b, max_ulp_difference = 9 : T, T"), "at [0]: inf"),
        (("%a = const dense<[1.0, 2.0]> : T", "%b = const dense<[1.0, 2.0]> : T",
          "check.expect_close %a, %b, max_ulp_difference = 9, min_ulp_difference = 1 : T, T"),
         "2 elements of 2 differ"),
        (("%a = const dense<[1.0, 2.0]> : T", 'check.expect_serialized_eq %a, probe_id = "p" : T'),
         "the probe 'p' ran 0 times"),
    ],
)  # fmt: skip
def test_what_is_not_alike_is_an_error(lines, told):
    with pytest.raises(hlo.HloError) as caught:
        run(main(*lines))
    assert caught.value.code == "HLO125"
    assert told in str(caught.value)
    assert caught.value.span.line == 1 + len(lines)


def test_the_parts_of_complex_numbers_are_compared():
    a, b = "dense<[(1.0, 2.0), (3.0, 0x7F800000)]>", "dense<[(1.0, 2.00005), (3.0, 0x7F800000)]>"
    lines = (f"%a = const {a} : T", f"%b = const {b} : T", "check.expect_almost_eq %a, %b : T")
    assert run(main(*lines, kind="2xcomplex<f32>")) == ()
    close = "check.expect_close %a, %b, max_ulp_difference = {} : T, T"
    assert run(main(*lines[:2], close.format(300), kind="2xcomplex<f32>")) == ()
    with pytest.raises(hlo.HloError, match="1 element of 2"):
        run(main(*lines[:2], close.format(9), kind="2xcomplex<f32>"))


PROBED = """
func.func @main() {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %two = stablehlo.constant dense<2> : tensor<i64>
  %r = stablehlo.while(%i = %zero) : tensor<i64>
  cond {
    %p = stablehlo.compare LT, %i, %two : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = stablehlo.add %i, %one : tensor<i64>
    %kept = interpreter.probe %n, probe_id = "n" : tensor<i64>
    stablehlo.return %kept : tensor<i64>
  }
  check.expect_serialized_eq %one, probe_id = "n", iter = 0 : tensor<i64>
  check.expect_serialized_eq %two, probe_id = "n", iter = 1 : tensor<i64>
  interpreter.print %r : tensor<i64>
  func.return
}"""


def test_a_probe_keeps_the_value_of_each_iteration(capsys):
    device = Device()
    run(PROBED, devices=[device])
    assert [int(v) for v in device.probes["n"]] == [1, 2]
    assert capsys.readouterr().out == "%r = s64[] 2\n"
    with pytest.raises(hlo.HloError, match="1 element of 1 differ"):
        run(PROBED.replace("%two, probe_id", "%zero, probe_id"))


PARALLEL = """
func.func @sum(%x: tensor<2xi64>) -> tensor<2xi64> {
  %r = "stablehlo.all_reduce"(%x) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %s = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %s : tensor<i64>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi64>) -> tensor<2xi64>
  return %r : tensor<2xi64>
}
func.func @twice(%x: tensor<2xi64>) -> tensor<2xi64> {
  %0 = call @sum(%x) : (tensor<2xi64>) -> tensor<2xi64>
  %1 = stablehlo.add %0, %0 : tensor<2xi64>
  return %1 : tensor<2xi64>
}
func.func @main() {
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %b = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
  %r:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@sum], [@twice]]}
    : (tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>)
  check.expect_eq_const %r#0, dense<[4, 6]> : tensor<2xi64>
  check.expect_eq_const %r#1, dense<[8, 12]> : tensor<2xi64>
  func.return
}"""


def test_functions_run_on_a_grid_of_devices():
    assert run(PARALLEL) == ()
    with pytest.raises(hlo.HloError, match="2 elements of 2 differ"):
        run(PARALLEL.replace("dense<[8, 12]>", "dense<[8, 13]>").replace("[4, 6]", "[5, 5]"))
    with pytest.raises(hlo.HloError, match="`programs` is a list"):
        run(PARALLEL.replace("[[@sum], [@twice]]", "[[@sum], []]"))


def test_a_grid_is_replicas_of_partitions():
    text = """
    func.func @ids() -> (tensor<ui32>, tensor<ui32>) {
      %0 = stablehlo.replica_id : tensor<ui32>
      %1 = stablehlo.partition_id : tensor<ui32>
      return %0, %1 : tensor<ui32>, tensor<ui32>
    }
    func.func @main() -> (tensor<ui32>, tensor<ui32>) {
      %r:8 = "interpreter.run_parallel"() {programs = [[@ids, @ids], [@ids, @ids]]}
        : () -> (tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>)
      return %r#4, %r#7 : tensor<ui32>, tensor<ui32>
    }"""  # noqa: E501  as it is written
    assert [int(v) for v in run(text)] == [1, 1]


QUEUES = """
func.func @first() -> tensor<2xi64> {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  return %0 : tensor<2xi64>
}
func.func @second() -> tensor<2xi64> {
  %0 = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
  return %0 : tensor<2xi64>
}
func.func @take(%t: !stablehlo.token) -> tensor<2xi64> {
  %0:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
  %1:2 = "stablehlo.infeed"(%0#1) : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
  %2 = stablehlo.subtract %1#0, %0#0 : tensor<2xi64>
  %3 = "stablehlo.send"(%2, %t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true} : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token
  return %2 : tensor<2xi64>
}
func.func @get(%t: !stablehlo.token) -> tensor<2xi64> {
  %0:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
  return %0#0 : tensor<2xi64>
}
func.func @main() {
  %t = stablehlo.create_token : !stablehlo.token
  %r:2 = "interpreter.run_parallel"(%t, %t) {infeed = [@first, @second], programs = [[@take], [@get]]}
    : (!stablehlo.token, !stablehlo.token) -> (tensor<2xi64>, tensor<2xi64>)
  check.expect_eq_const %r#0, dense<[2, 2]> : tensor<2xi64>
  check.expect_eq_const %r#1, dense<[2, 2]> : tensor<2xi64>
  func.return
}"""  # noqa: E501  as it is written


def test_the_host_sends_what_functions_give_and_hands_on_messages():
    assert run(QUEUES) == ()


def test_only_the_interpreter_runs_checks():
    module = stablehlo.parse(main("%a = const dense<[1.0, 2.0]> : T", "check.expect_eq %a, %a : T"))
    with pytest.raises(hlo.HloError, match=r"check\.expect_eq"):
        emit_c.compile(module)()


def test_distances_in_ulp():
    """NaN is at none from NaN, infinity as far as can be, both zeros are one number."""
    far = 2**64 - 1
    a = np.float32([1, -0.0, np.nan, np.inf, np.inf, 1e-45])
    b = np.float32([1.0000001, 0.0, np.nan, np.inf, 1, -1e-45])
    found = interpreter.numbers.compare.ulps_between(a, b)
    assert [int(n) for n in found] == [1, 0, 0, 0, far, 2]
