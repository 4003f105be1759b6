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


def read(lines: str, arguments: str = "%x: tensor<4xf32>", result: str = "tensor<4xf32>") -> str:
    """The text of the module of a function on two devices that returns `%r`."""
    module = stablehlo.parse(
        f'module @m {{\n  sdy.mesh @mesh = <["a"=2]>\n'
        f"  func.func private @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{\n"
        f"    return %x, %x : tensor<4xf32>, tensor<4xf32>\n  }}\n"
        f"  func.func @main({arguments}) -> {result} {{\n{lines}\n"
        f"    return %r : {result}\n  }}\n}}"
    )
    hlo.verify(module)
    assert str(hlo.parse(str(module))) == str(module)
    return str(module)


PAIR = '#sdy.sharding_per_value<[<@mesh, [{"a"}]>, <@mesh, [{}]>]>'


@pytest.mark.parametrize(
    "line",
    [
        f"call @f(%x) {{sdy.sharding = {PAIR}}} : (V) -> (V, V)",
        (
            'stablehlo.custom_call @Two(%x) {mhlo.sharding = "{{devices=[2]<=[2]}, {replicated}}"} '
            ": (V) -> (V, V)"
        ),
        f"stablehlo.optimization_barrier %x, %x {{sdy.sharding = {PAIR}}} : V, V",
    ],
)
def test_each_of_several_values_has_a_sharding_of_its_own(line: str) -> None:
    line = line.replace("V", "tensor<4xf32>")
    text = read(f"    %0:2 = {line}\n    %r = stablehlo.add %0#0, %0#1 : tensor<4xf32>")
    assert "sharding={{devices=[2]<=[2]}, {replicated}}" in text
    assert "index=0, sharding={devices=[2]<=[2]}" in text
    assert "index=1, sharding={replicated}" in text


def test_a_reshape_that_only_helps_has_no_sharding() -> None:
    sharding = '#sdy.sharding_per_value<[<@mesh, [{}, {"a"}]>]>'
    text = read(
        f"    %r = stablehlo.broadcast_in_dim %x, dims = [0, 1] {{sdy.sharding = {sharding}}}"
        " : (tensor<1x4xf32>) -> tensor<3x4xf32>",
        "%x: tensor<1x4xf32>", "tensor<3x4xf32>",
    )  # fmt: skip
    (reshape,) = (line for line in text.splitlines() if " reshape(" in line)
    (broadcast,) = (line for line in text.splitlines() if " broadcast(" in line)
    assert "sharding={" not in reshape
    assert "sharding={devices=[1,2]<=[2]}" in broadcast


def test_meshes_within_shardings_get_names() -> None:
    """As XLA names them; equal ones the same, and none the name of another."""
    text = read("""
    %0 = stablehlo.add %x, %x {sdy.sharding = #sdy.sharding_per_value<[<mesh<["b"=4]>, [{"b"}]>]>} : tensor<4xf32>
    %1 = stablehlo.add %0, %x {sdy.sharding = #sdy.sharding_per_value<[<mesh<["c"=2, "d"=2]>, [{"d", "c"}]>]>} : tensor<4xf32>
    %2 = stablehlo.add %1, %x {sdy.sharding = #sdy.sharding_per_value<[<mesh<["b"=4]>, [{}]>]>} : tensor<4xf32>
    %r = stablehlo.add %2, %x {sdy.sharding = #sdy.sharding_per_value<[<mesh<[], device_ids=[1]>, []>]>} : tensor<4xf32>""")  # noqa: E501  as it is written
    assert (
        'xla.sdy.meshes={mesh = #sdy.mesh<["a"=2]>, mesh_0 = #sdy.mesh<["b"=4]>, '
        'mesh_1 = #sdy.mesh<["c"=2, "d"=2]>, maximal_mesh_1 = #sdy.mesh<[], device_ids=[1]>}'
    ) in text
    for written in (
        r'sharding={devices=[4]<=[4]}, frontend_attributes={xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh_0, [{\"b\"}]>]>"}',  # noqa: E501
        r"sharding={devices=[4]<=[2,2]T(1,0)}",
        r'sharding={replicated}, frontend_attributes={xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh_0, [{}]>]>"}',  # noqa: E501
        "sharding={maximal device=1}",
    ):
        assert written in text


def test_operations_of_shardys_partitioner_change_no_whole_value() -> None:
    text = """
    sdy.mesh @mesh = <["a"=2, "b"=2, "c"=4]>
    func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
      %0 = sdy.all_gather [{"a", "c":(1)2}, {}] %x out_sharding=<@mesh, [{"b"}, {"a"}]> : tensor<8x8xf32>
      %1 = sdy.all_slice [{"a"}, {"c"}] %0 out_sharding=<@mesh, [{"b"}, {"a"}]> : tensor<8x8xf32>
      %2 = sdy.all_to_all [{"a"}: 0->1, {"c":(2)2}: 1->0] %1 out_sharding=<@mesh, [{"b"}, {"a"}]> : tensor<8x8xf32>
      %3 = sdy.collective_permute %2 out_sharding=<@mesh, [{"a"}, {"b"}]> : tensor<8x8xf32>
      %4 = sdy.all_reduce {"a", "c":(1)2} %3 out_sharding=<@mesh, [{"b"}, {}]> : tensor<8x8xf32>
      %5 = sdy.reduce_scatter [{"a"}, {}] %4 out_sharding=<@mesh, [{"b"}, {}]> : tensor<8x8xf32>
      %6 = sdy.data_flow_edge %5 sharding=<@mesh, [{"b"}, {}]> : tensor<8x8xf32>
      %7 = sdy.propagation_barrier %6 allowed_direction=BACKWARD : tensor<8x8xf32>
      %8 = sdy.replicated_to_unreduced {"a"} %7 out_sharding=<@mesh, [{}, {}], unreduced={"a"}> : tensor<8x8xf32>
      sdy.sharding_group %8 group_id=3 : tensor<8x8xf32>
      %9 = sdy.named_computation<"f">(%8) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>] (%y: tensor<8x8xf32>) {
        %10 = stablehlo.add %y, %y : tensor<8x8xf32>
        sdy.return %10 : tensor<8x8xf32>
      } : (tensor<8x8xf32>) -> tensor<8x8xf32>
      return %9 : tensor<8x8xf32>
    }"""  # noqa: E501  as it is written
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    np.testing.assert_array_equal(interpreter.evaluate(stablehlo.parse(text), x), 2 * x)


SUM = """
    %r = "stablehlo.all_reduce"(%x) <{{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = {}, axes = [{}]>,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }}) : (tensor<f32>) -> tensor<f32>
"""  # noqa: E501  as it is written
IN_PLACE = (
    '#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "a", size = 2>, '
    '#stablehlo.mesh_axis<name = "b", size = 2>]>'
)
HALF = "sub_axis_info = #stablehlo.sub_axis_info<pre_size = 1, size = 2>"


@pytest.mark.parametrize(
    ("declared", "mesh", "axes", "sums"),
    [
        ('<["a"=2, "b"=2]>', "@mesh", '#stablehlo.axis_ref<name = "a">', [4, 6, 4, 6]),
        ('<["a"=2, "b"=2]>', "@mesh", '#stablehlo.axis_ref<name = "b">', [3, 3, 7, 7]),
        ('<["a"=2, "b"=2], device_ids=[0, 2, 1, 3]>', "@mesh",
         '#stablehlo.axis_ref<name = "a">', [3, 3, 7, 7]),
        ('<["a"=2]>', IN_PLACE, '#stablehlo.axis_ref<name = "a">', [4, 6, 4, 6]),
        ('<["a"=4]>', "@mesh", f'#stablehlo.axis_ref<name = "a", {HALF}>', [4, 6, 4, 6]),
        ('<["a"=4]>', "@mesh", '#stablehlo.axis_ref<name = "a", sub_axis_info = (1)2>',
         [4, 6, 4, 6]),
    ],
)  # fmt: skip
def test_groups_are_devices_along_axes_of_a_mesh(
    declared: str, mesh: str, axes: str, sums: list[int]
) -> None:
    text = (
        "module @m attributes {mhlo.num_partitions = 4 : i32} {\n"
        f"sdy.mesh @mesh = {declared}\nfunc.func @main(%x: tensor<f32>) -> tensor<f32> {{"
        f"{SUM.format(mesh, axes)} return %r : tensor<f32>\n}}\n}}"
    )
    given = [[np.float32(k)] for k in (1, 2, 3, 4)]
    found = interpreter.evaluate(stablehlo.parse(text), per_device=given)
    assert [int(v) for v in found] == sums


@pytest.mark.parametrize(
    ("mesh", "axis", "told"),
    [("@mash", "a", "no mesh @mash"), ("@mesh", "z", 'the mesh has no axis "z"')],
)
def test_groups_name_meshes_and_axes_that_there_are(mesh: str, axis: str, told: str) -> None:
    lines = SUM.format(mesh, f'#stablehlo.axis_ref<name = "{axis}">')
    with pytest.raises(hlo.HloError, match=told) as caught:
        read(lines, "%x: tensor<f32>", "tensor<f32>")
    assert caught.value.span.line == 8


def test_tokens_pass_through_a_block_on_parts() -> None:
    text = """
    sdy.mesh @mesh = <["a"=2]>
    func.func @main(%x: tensor<4xf32>, %t: !stablehlo.token) -> (tensor<4xf32>, !stablehlo.token) {
      %0:2 = sdy.manual_computation(%x, %t) in_shardings=[<@mesh, [{"a"}]>, <@mesh, []>] out_shardings=[<@mesh, [{"a"}]>, <@mesh, []>] manual_axes={"a"} (%y: tensor<2xf32>, %u: !stablehlo.token) {
        %v = stablehlo.after_all %u : !stablehlo.token
        %z = stablehlo.negate %y : tensor<2xf32>
        sdy.return %z, %v : tensor<2xf32>, !stablehlo.token
      } : (tensor<4xf32>, !stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
      return %0#0, %0#1 : tensor<4xf32>, !stablehlo.token
    }"""  # noqa: E501  as it is written
    module = stablehlo.parse(text)
    hlo.verify(module)
    found, token = interpreter.evaluate(module, np.float32([1, 2, 3, 4]), None)
    assert (found.tolist(), token) == ([-1, -2, -3, -4], None)


def test_attributes_that_only_look_like_a_dictionary_have_quotes() -> None:
    """As XLA prints them: what has a quote that no other closes is no dictionary."""
    text = r"""
    module @m attributes {mhlo.frontend_attributes = {a = "{b = [c\22]}", d = "{e = [1]}"}} {
      func.func public @main(%x: tensor<1xf32>) -> tensor<1xf32> { return %x : tensor<1xf32> }
    }"""
    printed = str(stablehlo.parse(text))
    assert r'frontend_attributes={a="{b = [c\"]}",d={e = [1]}}' in printed
    assert str(hlo.parse(printed)) == printed
