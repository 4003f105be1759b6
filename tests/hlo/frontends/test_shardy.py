"""Programs that Shardy annotates become what XLA imports of them."""

import numpy as np
import pytest

import hlo
import interpreter
from hlo.frontends import stablehlo
from tests.sharded import X

# As JAX writes `shard_map` with one argument cut along both axes, and jit's shardings.
PROGRAM = """
module @m attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}]}}
  func.func public @main(
      %arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
      -> (tensor<8x2xf32> {jax.result_info = "r", sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
    %0 = sdy.manual_computation(%arg0, %arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{"y", "x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%arg1: tensor<4x2xf32> loc("a"(#loc)), %arg2: tensor<1x8xf32>) {
      %1 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<4x2xf32>) -> tensor<4x2xf32>
      sdy.return %1 : tensor<4x2xf32>
    } : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x2xf32> loc(#loc)
    %2 = sdy.sharding_constraint %0 <@mesh, [{"x", ?}, {?}]> : tensor<8x2xf32>
    %3 = sdy.reshard %2 <@mesh, [{}, {"x"}]> : tensor<8x2xf32>
    %4 = sdy.propagation_barrier %3 allowed_direction=NONE : tensor<8x2xf32>
    sdy.sharding_group %4 group_id=0 : tensor<8x2xf32>
    return %4 : tensor<8x2xf32>
  }
}
#loc = loc(unknown)
"""  # noqa: E501  as it is written


def test_the_value_is_that_of_the_whole() -> None:
    module = stablehlo.parse(PROGRAM)
    hlo.verify(module)
    assert str(hlo.parse(str(module))) == str(module)
    np.testing.assert_array_equal(interpreter.evaluate(module, X), X.reshape(8, 4, 2).sum(1))


def test_shardings_are_written_as_xla_imports_them() -> None:
    text = str(stablehlo.parse(PROGRAM))
    for written in (
        'frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=2, "y"=4]>}}',
        "parameter(0), sharding={devices=[2,4]<=[8]}, frontend_attributes={xla.sdy.sharding=",
        r'"#sdy.sharding<@mesh, [{\"x\"}, {\"y\"}]>"',
        r'in_shardings="#sdy.sharding_per_value<[<@mesh, [{\"x\"}, {\"y\"}]>, <@mesh, [{\"y\", ',
        r'xla.sdy.manual_axes="#sdy<manual_axes{\"x\", \"y\"}>"',
        'custom_call_target="Sharding", sharding={devices=[2,1,4]<=[8] last_tile_dim_replicate}',
        'custom_call_target="Sharding", sharding={devices=[1,2,4]<=[8] last_tile_dim_replicate}',
        'custom_call_target="xla.sdy.FuncResultSharding"',
        "index=0, sharding={devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
    ):
        assert written in text


def test_the_generic_form_says_the_same() -> None:
    start = PROGRAM.index("    %0 = sdy.manual")
    old = PROGRAM[start : PROGRAM.index("\n", start)]
    new = """    %0 = "sdy.manual_computation"(%arg0, %arg0) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{"y", "x"}, {}]>]>, manual_axes = #sdy<manual_axes{"x", "y"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}> ({
    ^bb0(%arg1: tensor<4x2xf32>, %arg2: tensor<1x8xf32>):"""  # noqa: E501
    text = PROGRAM.replace(old, new).replace(
        "    } : (tensor<8x8xf32>, tensor", "    }) : (tensor<8x8xf32>, tensor"
    )
    mesh = '"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2, "y"=4]>, sym_name = "mesh"}> : () -> ()'
    start = text.index("sdy.mesh @mesh")
    text = text.replace(text[start : text.index("\n", start)], mesh)
    assert str(stablehlo.parse(text)) == str(stablehlo.parse(PROGRAM))


def test_results_and_frontend_attributes_of_older_programs_are_kept() -> None:
    text = r"""
    module @m attributes {mhlo.num_partitions = 2 : i32, mhlo.frontend_attributes =
        {xla.sdy.meshes = "{mesh = #sdy.mesh<[\22x\22=2]>}"}} {
      func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {mhlo.sharding = "{devices=[2]<=[2]}"},
                                             tensor<4xf32>) {
        %0 = stablehlo.custom_call @Sharding(%x) {mhlo.frontend_attributes =
          {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{\22x\22}]>]>"},
          mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<4xf32>) -> tensor<4xf32>
        return %0, %x : tensor<4xf32>, tensor<4xf32>
      }
    }"""
    module = stablehlo.parse(text)
    assert str(hlo.parse(str(module))) == str(module)
    assert 'xla.sdy.meshes={mesh = #sdy.mesh<["x"=2]>}' in str(module)
    assert r'xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh, [{\"x\"}]>]>"' in str(module)
    assert "tuple(%custom-call, %x), sharding={{devices=[2]<=[2]}, {replicated}}" in str(module)


@pytest.mark.parametrize(
    ("old", "new", "code", "told"),
    [
        ("<@mesh, [{}, {\"x\"}]> : ", "<@mish, [{}, {\"x\"}]> : ", "HLO013", "no mesh @mish"),
        ("reshard %2 <@mesh, [{}, {\"x\"}]> : ", "reshard %2 <@mesh, [{}, {\"z\"}]> : ",
         "HLO013", 'no axis "z"'),
        ('<["x"=2, "y"=4]>', '<["x"=2, "y"=4], device_ids=[1, 2]>', "HLO012", "names 2"),
        ('<["x"=2, "y"=4]>', '<["x"=0]>', "HLO012", "from 1 to"),
        ('#sdy.sharding<@mesh, [{"x"}', '#sdy.sharding<@mish, [{"x"}', "HLO013", "no mesh @mish"),
        ('#sdy.sharding<@mesh, [{"y"}, {}', '#sdy.sharding<@mesh, [{"z"}, {}', "HLO013",
         'no axis "z"'),
        ("tensor<4x2xf32> loc", "tensor<2x2xf32> loc", "HLO013", "all_reduce gives f32[2,2]"),
        (" out_shardings=[<@mesh, [{\"x\"}, {}]>]", "", "HLO013", "needs `out_shardings`"),
    ],
)  # fmt: skip
def test_errors_point_at_the_text(old: str, new: str, code: str, told: str) -> None:
    assert old in PROGRAM
    with pytest.raises(hlo.HloError) as caught:
        hlo.verify(stablehlo.parse(PROGRAM.replace(old, new, 1), "a.mlir"))
    assert told in str(caught.value)
    assert caught.value.code == code
    assert caught.value.span.line > 1
