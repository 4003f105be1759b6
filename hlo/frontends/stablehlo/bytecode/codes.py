"""Tables of bytecode's codes: element types, words, and the attributes of operations."""

from __future__ import annotations

# Types of VHLO that have no parts.
SCALARS = {
    0: "i1", 2: "bf16", 3: "f16", 4: "f32", 5: "f64", 6: "f8E4M3FN", 7: "f8E5M2", 9: "index",
    10: "i4", 11: "i8", 12: "i16", 13: "i32", 14: "i64",
    15: "ui4", 16: "ui8", 17: "ui16", 18: "ui32", 19: "ui64",
    26: "witness", 27: "f8E4M3FNUZ", 28: "f8E5M2FNUZ", 29: "f8E4M3B11FNUZ", 31: "i2", 32: "ui2",
    34: "tf32", 35: "f8E4M3", 36: "f8E3M4", 37: "f4E2M1FN", 38: "f6E2M3FN", 39: "f6E3M2FN",
    40: "f8E8M0FNU",
}  # fmt: skip
# Types of MLIR itself.
BUILTIN_SCALARS = {1: "index", 3: "bf16", 4: "f16", 5: "f32", 6: "f64", 7: "f80", 8: "f128"}
SIGNS = ("", "s", "u")

# Attributes of VHLO that are words.
WORDS = {
    3: ("EQ", "NE", "GE", "GT", "LE", "LT"),
    4: ("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"),
    7: ("FFT", "IFFT", "RFFT", "IRFFT"),
    11: ("DEFAULT", "HIGH", "HIGHEST"),
    12: ("DEFAULT", "THREE_FRY", "PHILOX"),
    13: ("", "UNIFORM", "NORMAL"),
    16: ("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"),
    19: ("DEFAULT", "HIGHEST", "TOLERANCE"),
}

# The attributes of each operation of VHLO, in the order in which they are written: by name.
_GROUPS = "channel_id replica_groups"
_GLOBAL_GROUPS = f"{_GROUPS} use_global_device_ids"
_CONVOLUTION = (
    "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
    "input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension "
    "kernel_spatial_dimensions lhs_dilation output_batch_dimension output_feature_dimension "
    "output_spatial_dimensions {}precision_config rhs_dilation window_reversal window_strides"
)
_CALL = (
    "api_version backend_config call_target_name called_computations has_side_effect "
    "operand_layouts output_operand_aliases result_layouts"
)
_COMPOSITE = "composite_attributes decomposition name version"
_ALL_TO_ALL = "channel_id concat_dimension replica_groups split_count split_dimension"
PROPERTIES = {
    "all_gather_v1": f"all_gather_dim {_GLOBAL_GROUPS}",
    "all_gather_v2": f"all_gather_dim {_GLOBAL_GROUPS}",
    "all_reduce_v1": _GLOBAL_GROUPS,
    "all_reduce_v2": _GLOBAL_GROUPS,
    "all_to_all_v1": _ALL_TO_ALL,
    "all_to_all_v2": _ALL_TO_ALL,
    "batch_norm_grad_v1": "epsilon feature_index",
    "batch_norm_inference_v1": "epsilon feature_index",
    "batch_norm_training_v1": "epsilon feature_index",
    "broadcast_in_dim_v1": "broadcast_dimensions",
    "broadcast_v1": "broadcast_sizes",
    "call_v1": "callee",
    "cholesky_v1": "lower",
    "collective_broadcast_v1": _GROUPS,
    "collective_broadcast_v2": "channel_id has_dynamic_root replica_groups",
    "collective_permute_v1": "channel_id source_target_pairs",
    "collective_reduce_v1": "channel_id has_dynamic_root replica_groups use_global_device_ids",
    "compare_v1": "compare_type comparison_direction",
    "composite_v1": _COMPOSITE,
    "composite_v2": _COMPOSITE,
    "concatenate_v1": "dimension",
    "constant_v1": "value",
    "convolution_v1": _CONVOLUTION.format("padding "),
    "custom_call_v1": _CALL,
    "custom_call_v2": f"{_CALL} result_tilings",
    "dot_general_v1": "lhs_batching_dimensions lhs_contracting_dimensions precision_config "
    "rhs_batching_dimensions rhs_contracting_dimensions",
    "dot_general_v2": "accumulation_type allow_imprecise_accumulation lhs_batching_dimensions "
    "lhs_component_count lhs_contracting_dimensions lhs_precision_type num_primitive_operations "
    "precision_config rhs_batching_dimensions rhs_component_count rhs_contracting_dimensions "
    "rhs_precision_type",
    "cross-replica-sum_v1": "replica_groups",
    "dot_v1": "precision_config",
    "dynamic_broadcast_in_dim_v1": "broadcast_dimensions known_expanding_dimensions "
    "known_nonexpanding_dimensions",
    "dynamic_conv_v1": _CONVOLUTION.format("padding "),
    "dynamic_conv_v2": _CONVOLUTION.format(""),
    "dynamic_gather_v1": "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims "
    "start_index_map",
    "dynamic_gather_v2": "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims "
    "operand_batching_dims start_index_map start_indices_batching_dims",
    "dynamic_iota_v1": "iota_dimension",
    "dynamic_slice_v1": "slice_sizes",
    "einsum_v1": "einsum_config",
    "fft_v1": "fft_length fft_type",
    "func_v1": "arg_attrs function_type res_attrs sym_name sym_visibility",
    "gather_v1": "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims "
    "slice_sizes start_index_map",
    "gather_v2": "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims "
    "operand_batching_dims slice_sizes start_index_map start_indices_batching_dims",
    "get_dimension_size_v1": "dimension",
    "get_tuple_element_v1": "index",
    "infeed_v1": "infeed_config layout",
    "iota_v1": "iota_dimension",
    "map_v1": "dimensions",
    "outfeed_v1": "outfeed_config",
    "pad_v1": "edge_padding_high edge_padding_low interior_padding",
    "recv_v1": "channel_id channel_type is_host_transfer",
    "recv_v2": "channel_id channel_type is_host_transfer source_target_pairs",
    "reduce_precision_v1": "exponent_bits mantissa_bits",
    "reduce_scatter_v1": "channel_id replica_groups scatter_dimension use_global_device_ids",
    "reduce_v1": "dimensions",
    "reduce_window_v1": "base_dilations padding window_dilations window_dimensions "
    "window_strides",
    "reverse_v1": "dimensions",
    "rng_bit_generator_v1": "rng_algorithm",
    "rng_v1": "rng_distribution",
    "scatter_v1": "index_vector_dim indices_are_sorted inserted_window_dims "
    "scatter_dims_to_operand_dims unique_indices update_window_dims",
    "scatter_v2": "index_vector_dim indices_are_sorted input_batching_dims inserted_window_dims "
    "scatter_dims_to_operand_dims scatter_indices_batching_dims unique_indices "
    "update_window_dims",
    "select_and_scatter_v1": "padding window_dimensions window_strides",
    "send_v1": "channel_id channel_type is_host_transfer",
    "send_v2": "channel_id channel_type is_host_transfer source_target_pairs",
    "set_dimension_size_v1": "dimension",
    "slice_v1": "limit_indices start_indices strides",
    "sort_v1": "dimension is_stable",
    "torch_index_select_v1": "batch_dims dim",
    "transpose_v1": "permutation",
    "triangular_solve_v1": "left_side lower transpose_a unit_diagonal",
    "unary_einsum_v1": "einsum_config",
    **dict.fromkeys(
        [
            f"{name}_v2"
            for name in (
                "cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one",
                "logistic", "rsqrt", "sine", "sqrt", "tan", "tanh",
            )
        ],
        "result_accuracy",
    ),
}  # fmt: skip
# Those of other dialects that are beside it; a "?" marks one that may be missing.
OTHER_PROPERTIES = {
    "builtin.module": "sym_name? sym_visibility?",
    "sdy.mesh": "mesh sym_name",
    "sdy.sharding_constraint": "sharding",
    "sdy.manual_computation": "in_shardings manual_axes out_shardings",
}
