"""VHLO, in which StableHLO is kept, is the same program.

The texts are as jaxlib 0.10.2 prints what it has serialized.
"""

# ruff: noqa: E501  texts are as they are written

import numpy as np
import pytest

import hlo
import interpreter
from hlo.files import parse_either
from hlo.frontends import stablehlo

PROGRAM = """
module @m attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  vhlo.func_v1 @main(%arg0: !vhlo.tensor_v1<3x3x!vhlo.f32_v1>) -> (!vhlo.tensor_v1<3x!vhlo.f32_v1>) {
    %0 = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<0.000000e+00> : tensor<f32>>}> : () -> !vhlo.tensor_v1<!vhlo.f32_v1>
    %1 = "vhlo.broadcast_in_dim_v1"(%0) <{broadcast_dimensions = #vhlo.tensor_v1<dense<> : tensor<0xi64>>}> : (!vhlo.tensor_v1<!vhlo.f32_v1>) -> !vhlo.tensor_v1<3x3x!vhlo.f32_v1>
    %2 = "vhlo.compare_v1"(%arg0, %1) <{compare_type = #vhlo<comparison_type_v1 FLOAT>, comparison_direction = #vhlo<comparison_direction_v1 GT>}> : (!vhlo.tensor_v1<3x3x!vhlo.f32_v1>, !vhlo.tensor_v1<3x3x!vhlo.f32_v1>) -> !vhlo.tensor_v1<3x3x!vhlo.bool_v1>
    %3 = "vhlo.transpose_v1"(%arg0) <{permutation = #vhlo.tensor_v1<dense<[1, 0]> : tensor<2xi64>>}> : (!vhlo.tensor_v1<3x3x!vhlo.f32_v1>) -> !vhlo.tensor_v1<3x3x!vhlo.f32_v1>
    %4 = "vhlo.dot_general_v2"(%arg0, %3) <{accumulation_type = #vhlo.type_v1<!vhlo.none_v1>, allow_imprecise_accumulation = #vhlo.type_v1<!vhlo.none_v1>, lhs_batching_dimensions = #vhlo.tensor_v1<dense<> : tensor<0xi64>>, lhs_component_count = #vhlo.type_v1<!vhlo.none_v1>, lhs_contracting_dimensions = #vhlo.tensor_v1<dense<1> : tensor<1xi64>>, lhs_precision_type = #vhlo.type_v1<!vhlo.none_v1>, num_primitive_operations = #vhlo.type_v1<!vhlo.none_v1>, precision_config = #vhlo.array_v1<[#vhlo<precision_v1 DEFAULT>, #vhlo<precision_v1 DEFAULT>]>, rhs_batching_dimensions = #vhlo.tensor_v1<dense<> : tensor<0xi64>>, rhs_component_count = #vhlo.type_v1<!vhlo.none_v1>, rhs_contracting_dimensions = #vhlo.tensor_v1<dense<0> : tensor<1xi64>>, rhs_precision_type = #vhlo.type_v1<!vhlo.none_v1>}> : (!vhlo.tensor_v1<3x3x!vhlo.f32_v1>, !vhlo.tensor_v1<3x3x!vhlo.f32_v1>) -> !vhlo.tensor_v1<3x3x!vhlo.f32_v1>
    %6 = "vhlo.call_v1"(%2, %4, %0) <{callee = #vhlo.string_v1<"_where">}> : (!vhlo.tensor_v1<3x3x!vhlo.bool_v1>, !vhlo.tensor_v1<3x3x!vhlo.f32_v1>, !vhlo.tensor_v1<!vhlo.f32_v1>) -> !vhlo.tensor_v1<3x3x!vhlo.f32_v1>
    %8 = "vhlo.reduce_v1"(%6, %0) <{dimensions = #vhlo.tensor_v1<dense<0> : tensor<1xi64>>}> ({
    ^bb0(%arg1: !vhlo.tensor_v1<!vhlo.f32_v1>, %arg2: !vhlo.tensor_v1<!vhlo.f32_v1>):
      %9 = "vhlo.add_v1"(%arg1, %arg2) : (!vhlo.tensor_v1<!vhlo.f32_v1>, !vhlo.tensor_v1<!vhlo.f32_v1>) -> !vhlo.tensor_v1<!vhlo.f32_v1>
      "vhlo.return_v1"(%9) : (!vhlo.tensor_v1<!vhlo.f32_v1>) -> ()
    }) : (!vhlo.tensor_v1<3x3x!vhlo.f32_v1>, !vhlo.tensor_v1<!vhlo.f32_v1>) -> !vhlo.tensor_v1<3x!vhlo.f32_v1>
    "vhlo.return_v1"(%8) : (!vhlo.tensor_v1<3x!vhlo.f32_v1>) -> ()
  } {arg_attrs = #vhlo.array_v1<[#vhlo.dict_v1<{#vhlo.string_v1<"jax.buffer_donor"> = #vhlo.bool_v1<true>}>]>, res_attrs = #vhlo.array_v1<[#vhlo.dict_v1<{#vhlo.string_v1<"jax.result_info"> = #vhlo.string_v1<"result">}>]>, sym_visibility = #vhlo.string_v1<"public">}
  vhlo.func_v1 @_where(%arg0: !vhlo.tensor_v1<3x3x!vhlo.bool_v1>, %arg1: !vhlo.tensor_v1<3x3x!vhlo.f32_v1>, %arg2: !vhlo.tensor_v1<!vhlo.f32_v1>) -> (!vhlo.tensor_v1<3x3x!vhlo.f32_v1>) {
    %1 = "vhlo.broadcast_in_dim_v1"(%arg2) <{broadcast_dimensions = #vhlo.tensor_v1<dense<> : tensor<0xi64>>}> : (!vhlo.tensor_v1<!vhlo.f32_v1>) -> !vhlo.tensor_v1<3x3x!vhlo.f32_v1>
    %2 = "vhlo.select_v1"(%arg0, %arg1, %1) : (!vhlo.tensor_v1<3x3x!vhlo.bool_v1>, !vhlo.tensor_v1<3x3x!vhlo.f32_v1>, !vhlo.tensor_v1<3x3x!vhlo.f32_v1>) -> !vhlo.tensor_v1<3x3x!vhlo.f32_v1>
    "vhlo.return_v1"(%2) : (!vhlo.tensor_v1<3x3x!vhlo.f32_v1>) -> ()
  } {arg_attrs = #vhlo.array_v1<[]>, res_attrs = #vhlo.array_v1<[]>, sym_visibility = #vhlo.string_v1<"private">}
}
"""


def test_a_program_has_the_value_of_stablehlo() -> None:
    module = parse_either(PROGRAM)
    hlo.verify(module)
    x = np.float32([[1, -2, 3], [4, 5, -6], [-7, 8, 9]])
    expected = np.where(x > 0, x @ x.T, 0).sum(0)
    np.testing.assert_array_equal(interpreter.evaluate(module, x), expected)
    assert module.header.buffer_donor[0].parameter == 0
    functions = PROGRAM.partition("{\n")[2].rpartition("}")[0]
    assert str(parse_either(functions)).partition("\n")[2] == str(module).partition("\n")[2]


A, F = "!vhlo.tensor_v1<1x4x1x!vhlo.f32_v1>", "!vhlo.tensor_v1<3x1x1x!vhlo.f32_v1>"
LINES = {
    f'"vhlo.convolution_v1"(%x, %y) <{{batch_group_count = #vhlo.integer_v1<1 : i64>, feature_group_count = #vhlo.integer_v1<1 : i64>, input_batch_dimension = #vhlo.integer_v1<0 : i64>, input_feature_dimension = #vhlo.integer_v1<2 : i64>, input_spatial_dimensions = #vhlo.tensor_v1<dense<1> : tensor<1xi64>>, kernel_input_feature_dimension = #vhlo.integer_v1<1 : i64>, kernel_output_feature_dimension = #vhlo.integer_v1<2 : i64>, kernel_spatial_dimensions = #vhlo.tensor_v1<dense<0> : tensor<1xi64>>, lhs_dilation = #vhlo.tensor_v1<dense<1> : tensor<1xi64>>, output_batch_dimension = #vhlo.integer_v1<0 : i64>, output_feature_dimension = #vhlo.integer_v1<2 : i64>, output_spatial_dimensions = #vhlo.tensor_v1<dense<1> : tensor<1xi64>>, padding = #vhlo.tensor_v1<dense<1> : tensor<1x2xi64>>, precision_config = #vhlo.array_v1<[]>, rhs_dilation = #vhlo.tensor_v1<dense<1> : tensor<1xi64>>, window_reversal = #vhlo.tensor_v1<dense<false> : tensor<1xi1>>, window_strides = #vhlo.tensor_v1<dense<1> : tensor<1xi64>>}}> : ({A}, {F}) -> {A}':
        "convolution(%x, %y), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f",
    f'"vhlo.custom_call_v1"(%x) <{{api_version = #vhlo<api_version_v1 API_VERSION_TYPED_FFI>, backend_config = #vhlo.dict_v1<{{#vhlo.string_v1<"n"> = #vhlo.integer_v1<42 : i32>, #vhlo.string_v1<"x"> = #vhlo.float_v1<1.500000e+00 : !vhlo.f32_v1>}}>, call_target_name = #vhlo.string_v1<"f">, called_computations = #vhlo.array_v1<[]>, has_side_effect = #vhlo.bool_v1<true>, operand_layouts = #vhlo.array_v1<[]>, output_operand_aliases = #vhlo.array_v1<[]>, result_layouts = #vhlo.array_v1<[]>}}> : ({A}) -> {A}':
        'custom-call(%x), custom_call_target="f", custom_call_has_side_effect=true, api_version=API_VERSION_TYPED_FFI',
    f'"vhlo.all_gather_v2"(%x) <{{all_gather_dim = #vhlo.integer_v1<1 : i64>, channel_id = #vhlo.integer_v1<3 : i64>, replica_groups = #vhlo.tensor_v1<dense<0> : tensor<1x1xi64>>, use_global_device_ids = #vhlo.bool_v1<true>}}> : ({A}) -> {A}':
        "all-gather(%x), channel_id=3, replica_groups={{0}}, dimensions={1}, use_global_device_ids=true",
    f'"vhlo.exponential_v2"(%x) <{{result_accuracy = #vhlo.result_accuracy_v1<atol = 0.000000e+00, rtol = 0.000000e+00, ulps = 0, mode = #vhlo<result_accuracy_mode_v1 DEFAULT>>}}> : ({A}) -> {A}':
        "exponential(%x)",
}  # fmt: skip


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.split('"')[1])
def test_attributes_stand_for_those_of_stablehlo(line: str) -> None:
    text = f'vhlo.func_v1 @main(%x: {A}, %y: {F}) -> ({A}) {{\n%r = {line}\n"vhlo.return_v1"(%r) : ({A}) -> ()\n}}'
    module = stablehlo.parse(text)
    hlo.verify(module)
    assert LINES[line] in str(module)


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("!vhlo.tensor_v1<4x!vhlo.i8_v1>", "s8[4]{0}"),
        ("!vhlo.tensor_v1<2x3x!vhlo.ui16_v1>", "u16[2,3]{1,0}"),
        ("!vhlo.tensor_v1<!vhlo.bool_v1>", "pred[]"),
        ("!vhlo.tensor_v1<!vhlo.index_v1>", "s64[]"),
        ("!vhlo.tensor_v1<4x!vhlo.complex_v1<!vhlo.f64_v1>>", "c128[4]{0}"),
        ("!vhlo.tensor_v1<4x!vhlo.f8E4M3FN_v1>", "f8e4m3fn[4]{0}"),
        ("!vhlo.tensor_v1<?x4x!vhlo.f32_v1, #vhlo.type_extensions_v1<bounds = [8, ?]>>",
         "f32[<=8,4]{1,0}"),
        ("!vhlo.token_v1", "token[]"),
        ("!vhlo.tuple_v1<!vhlo.tensor_v1<!vhlo.f32_v1>, !vhlo.token_v1>", "(f32[], token[])"),
    ],
)  # fmt: skip
def test_types_stand_for_shapes(kind: str, shape: str) -> None:
    text = (
        f'vhlo.func_v1 @main(%x: {kind}) -> ({kind}) {{\n"vhlo.return_v1"(%x) : ({kind}) -> ()\n}}'
    )
    assert str(stablehlo.parse(text).entry.root.shape) == shape


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        ('%r = "vhlo.constant_v99"() : () -> !vhlo.f32_v1', "HLO012", "tensor<f32>"),
        ('%r = "vhlo.tahn_v1"(%x) : (T) -> T', "HLO013", "nothing for `stablehlo.tahn`"),
        ("%r = stablehlo.tanh %x : !vhlo.tensor_v1<4x>", "HLO013", "no type"),
        ("%r = stablehlo.tanh %x : !vhlo.tensor_v1<4x!vhlo.q_v1>", "HLO013", "element type `q`"),
        ("%r = stablehlo.tanh %x : !vhlo.tuple_v1<!vhlo.f32_v1>", "HLO013", "no type"),
        ("%r = stablehlo.tanh %x : tuple<!vhlo.f32_v1>", "HLO012", "tensor<f32>"),
    ],
)
def test_errors_point_at_the_text(line: str, code: str, told: str) -> None:
    tensor = "!vhlo.tensor_v1<4x!vhlo.f32_v1>"
    text = f'vhlo.func_v1 @main(%x: T) -> (T) {{\n{line}\n"vhlo.return_v1"(%x) : (T) -> ()\n}}'
    with pytest.raises(hlo.HloError) as caught:
        stablehlo.parse(text.replace("T", tensor))
    assert told in str(caught.value)
    assert caught.value.code == code
    assert caught.value.span is not None
    assert caught.value.span.line == 2
