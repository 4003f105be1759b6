"""Whole modules in MLIR's generic form, as `mlir-opt --mlir-print-op-generic` writes them."""

import pytest

import hlo
from hlo.frontends import stablehlo

GENERIC = """
"builtin.module"() <{sym_name = "m"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "mesh"}> : () -> ()
  "func.func"() <{arg_attrs = [{tf.aliasing_output = 0 : i32}, {}],
      function_type = (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>),
      res_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, {}], sym_name = "main",
      sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<4xf32>, %arg1: tensor<f32>):
    %0 = "func.call"(%arg0) <{callee = @twice}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0, %arg1) : (tensor<4xf32>, tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "twice",
      sym_visibility = "private"}> ({
  ^bb0(%x: tensor<4xf32>):
    %0 = "stablehlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 2 : i32} : () -> ()
"""
CUSTOM = """
module @m attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<f32>)
      -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<f32>) {
    %0 = call @twice(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %arg1 : tensor<4xf32>, tensor<f32>
  }
  func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""


def test_both_forms_are_the_same_module() -> None:
    module = stablehlo.parse(GENERIC)
    hlo.verify(module)
    assert str(module) == str(stablehlo.parse(CUSTOM))
    assert module.header.input_output_alias


@pytest.mark.parametrize(
    ("old", "new", "code", "told"),
    [
        ("arg_attrs = [{tf.aliasing_output = 0 : i32}, {}]", "arg_attrs = [{}]", "HLO012",
         "the arguments of @main"),
        ("sym_name = \"main\",", "sym_name = \"main\", f = 1}> : () -> ()\n\"func.func\"() <{",
         "HLO013", "function @main has no body"),
        ("callee = @twice", "callee = @thrice", "HLO012", "no function `@thrice`"),
        ('sym_name = "main"', 'sym_name = "other", f = (f32) -> f32', "HLO012", "tensor<f32>"),
    ],
)  # fmt: skip
def test_errors_point_at_the_text(old: str, new: str, code: str, told: str) -> None:
    assert old in GENERIC
    with pytest.raises(hlo.HloError) as caught:
        stablehlo.parse(GENERIC.replace(old, new, 1), "a.mlir")
    assert told in str(caught.value)
    assert caught.value.code == code
    assert caught.value.span.line > 1
