"""Any text of StableHLO gives a module or an HloError with a position, and nothing else."""

# ruff: noqa: E501  texts are as they are written

import pytest
from hypothesis import given, settings
from strategies.edits import garbled

import hlo
from hlo.frontends import stablehlo

TEXTS = (
    """!vec = tensor<4xf32>
#cst = dense<[1.0, 0x7F800000, -2.0, 0.0]> : !vec
module @m attributes {mhlo.num_partitions = 2 : i32, a.b} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%x: !vec {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (!vec, tensor<i32>) {
    %c = stablehlo.constant #cst
    %0 = chlo.broadcast_add %x, %c : (!vec, !vec) -> !vec
    %z = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.while(%i = %z, %a = %0) : tensor<i32>, !vec attributes {k = 1 : i64}
     cond {
      %p = stablehlo.compare LT, %i, %z, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      stablehlo.return %i, %a : tensor<i32>, !vec
    }
    return %1#1, %1#0 : !vec, tensor<i32>
  }
}""",
    """func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.all_to_all [{"a"}: 0->1] %x out_sharding=<@mesh, [{"b"}, {"a":(1)2}]> : tensor<8x8xf32>
  %1 = "stablehlo.all_reduce"(%0) <{replica_groups = #stablehlo.replica_group_mesh_axes<
      mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "a", size = 2>]>,
      axes = [#stablehlo.axis_ref<name = "a">]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.einsum %1, %1, config = "ij,jk->ik" : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %w = stablehlo.constant dense_resource<w> : tensor<8x8xf32>
  %3 = stablehlo.custom_call @f(%2, %w) {backend_config = {n = 3 : i64}} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> loc("a.py":1:2)
  return %3 : tensor<8x8xf32>
}
{-# dialect_resources: {builtin: {w: "0x040000000000803F"}} #-}""",
    """vhlo.func_v1 @main(%x: !vhlo.tensor_v1<4x!vhlo.f32_v1>) -> (!vhlo.tensor_v1<4x!vhlo.i1_v1>) {
  %0 = "vhlo.compare_v1"(%x, %x) <{compare_type = #vhlo<comparison_type_v1 FLOAT>, comparison_direction = #vhlo<comparison_direction_v1 GT>}> : (!vhlo.tensor_v1<4x!vhlo.f32_v1>, !vhlo.tensor_v1<4x!vhlo.f32_v1>) -> !vhlo.tensor_v1<4x!vhlo.bool_v1>
  "vhlo.return_v1"(%0) : (!vhlo.tensor_v1<4x!vhlo.bool_v1>) -> ()
} {arg_attrs = #vhlo.array_v1<[]>, sym_visibility = #vhlo.string_v1<"public">}""",
    """func.func @p(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @main() {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = "interpreter.run_parallel"(%0) {programs = [[@p]]} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_almost_eq_const %1, dense<[1.0, 2.0]> : tensor<2xf32>, tolerance = 0.1
  func.return
}""",
)


def check(text: str) -> None:
    """Read a text, and see that an error points into it."""
    try:
        hlo.verify(stablehlo.parse(text))
    except hlo.HloError as caught:
        error = caught
    else:
        return
    assert str(error)
    assert error.span is None or 0 <= error.span.start <= len(text)


def test_the_texts_are_read() -> None:
    for text in TEXTS:
        if "sdy.all_to_all" not in text:
            stablehlo.parse(text)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(garbled(TEXTS, 4))
def test_garbled_texts(text: str) -> None:
    check(text)


DEEP = 3_000
HOSTILE = {
    "nested lists": "func.func @f() attributes {a = " + "[" * DEEP + "]" * DEEP + "} { return }",
    "nested types": "func.func @f(%x: "
    + "tuple<" * DEEP
    + "tensor<f32>"
    + ">" * DEEP
    + ") { return }",
    "nested brackets": "func.func @f(%x: !a.b" + "<" * DEEP + ">" * DEEP + ") { return }",
    "nested regions": '"a.b"() (' + "{" * DEEP + "}" * DEEP + ") : () -> ()",
    "arrows": "func.func @f() attributes {a = #sdy.b<" + "->" * DEEP + "} { return }",
    "long numbers": "func.func @f(%x: tensor<" + "9" * DEEP + "xf32>) { return }",
    "long integers": "func.func @f() attributes {a = " + "9" * 2 * DEEP + "} { return }",
    "aliases of themselves": "#a = #a\n#b = [#b, #a]\n!c = !c\nfunc.func @f() { return }",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts(name: str) -> None:
    check(HOSTILE[name])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # A count of values is not believed before there are so many types.
        (
            "func.func @main(%x: tensor<f32>) { %r:4294967295 = stablehlo.negate %x : tensor<f32> }",
            "`%r` has 4294967295 values, more than there are types",
        ),
        # One digit of a byte is not taken for a control character.
        (
            r'module attributes {mhlo.frontend_attributes = {a = "\1x"}} { func.func @main() { return } }',
            r"`\\1` in a string is no escape of MLIR",
        ),
    ],
)
def test_words_that_mlir_refuses_are_named(text, message):
    with pytest.raises(hlo.HloError, match=message):
        stablehlo.parse(text)
