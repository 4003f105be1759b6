"""Operations that HLO has no opcode for, or that say less than HLO does, by their values."""

from collections import deque

import numpy as np
import pytest

import hlo
import interpreter
from hlo.frontends import stablehlo
from interpreter.engine.device import Device

F32 = np.float32


def module_of(lines, arguments, result, before=""):
    text = (
        f"{before}func.func @main({arguments}) -> {result} {{\n{lines}\n  return %r : {result}\n}}"
    )
    module = stablehlo.parse(text)
    hlo.verify(module)
    return module


def value(lines, result, **arguments):
    """The value of `%r` for some arguments, whose types are those of the arrays."""
    kinds = {"float32": "f32", "int32": "i32", "bool": "i1", "complex64": "complex<f32>"}
    kinds |= {"float16": "f16", "bfloat16": "bf16", "float8_e5m2": "f8E5M2", "float64": "f64"}
    given = ", ".join(
        f"%{name}: tensor<{''.join(f'{n}x' for n in array.shape)}{kinds[array.dtype.name]}>"
        for name, array in arguments.items()
    )
    return interpreter.evaluate(module_of(lines, given, result), *arguments.values())


def counted(*dims, dtype=np.float32):
    return np.arange(np.prod(dims), dtype=dtype).reshape(dims)


# ------------------------------------------------------------------------ constants


@pytest.mark.parametrize(("kind", "dtype"), [("f32", np.complex64), ("f64", np.complex128)])
def test_parts_of_complex_constants_are_kept(kind, dtype):
    infinity = {"f32": "0x7F800000", "f64": "0x7FF0000000000000"}[kind]
    numbers = f"[(1.0, {infinity}), (-0.0, 1.0), (2.0, -0.0), ({infinity}, -3.0)]"
    found = value(
        f"%r = stablehlo.constant dense<{numbers}> : tensor<4xcomplex<{kind}>>",
        f"tensor<4xcomplex<{kind}>>",
    )
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.real, [1, -0.0, 2, np.inf])
    np.testing.assert_array_equal(found.imag, [np.inf, 1, -0.0, -3])
    assert np.signbit(found.real).tolist() == [False, True, False, False]
    assert np.signbit(found.imag).tolist() == [False, False, True, True]


def test_a_mask_that_jax_prints():
    """A lower triangle of 16 rows, a byte an element."""
    mask = np.tril(np.ones((16, 16), bool))
    digits = mask.astype(np.uint8).tobytes().hex().upper()
    found = value(
        f'%r = stablehlo.constant dense<"0x{digits}"> : tensor<16x16xi1>', "tensor<16x16xi1>"
    )
    np.testing.assert_array_equal(found, mask)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("sdy.constant dense<[1.0, 2.0]> : tensor<2xf32>", "2xf32"),
        ("chlo.constant dense<[1.0, 2.0]> : tensor<2xf32>", "2xf32"),
        ("arith.constant dense<[1.0, 2.0]> : tensor<2xf32>", "2xf32"),
        ("mhlo.constant dense<[1.0, 2.0]> : tensor<2xf32>", "2xf32"),
        ("shape.const_shape [1, 2] : tensor<2xindex>", "2xindex"),
        (
            '"sdy.constant"() <{value = dense<[1, 2]> : tensor<2xi32>}> : () -> tensor<2xi32>',
            "2xi32",
        ),
    ],
)
def test_constants_of_other_dialects(line, kind):
    np.testing.assert_array_equal(value(f"%r = {line}", f"tensor<{kind}>"), [1, 2])


# ----------------------------------------------------------------------------- CHLO


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("add", lambda x, y: x + y), ("subtract", lambda x, y: x - y),
        ("multiply", lambda x, y: x * y), ("divide", lambda x, y: x / y),
        ("maximum", np.maximum), ("minimum", np.minimum), ("atan2", np.arctan2),
        ("power", np.power), ("remainder", np.fmod), ("next_after", np.nextafter),
        ("complex", lambda x, y: x + 1j * y),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("left", "right"), [((4,), ()), ((3, 1), (4,)), ((3, 4), (3, 4))])
def test_operands_are_repeated_to_one_shape(name, expected, left, right):
    x, y = counted(*left) + 1, counted(*right) + 2
    shape = np.broadcast_shapes(left, right)
    kind = "complex<f32>" if name == "complex" else "f32"
    types = [f"tensor<{''.join(f'{n}x' for n in dims)}f32>" for dims in (left, right)]
    result = f"tensor<{''.join(f'{n}x' for n in shape)}{kind}>"
    line = f"%r = chlo.broadcast_{name} %x, %y : ({types[0]}, {types[1]}) -> {result}"
    np.testing.assert_allclose(value(line, result, x=x, y=y), expected(x, y), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor),
        ("shift_left", np.left_shift), ("shift_right_arithmetic", np.right_shift),
        ("shift_right_logical", np.right_shift), ("add", np.add),
    ],
)  # fmt: skip
def test_integers_are_repeated_along_the_dimensions_that_are_named(name, expected):
    """Where dimensions are named, they are those of the operand of the lower rank."""
    x, y = counted(3, 4, dtype=np.int32), np.int32([0, 1, 2])
    line = (
        f"%r = chlo.broadcast_{name} %x, %y {{broadcast_dimensions = array<i64: 0>}}"
        " : (tensor<3x4xi32>, tensor<3xi32>) -> tensor<3x4xi32>"
    )
    found = value(line, "tensor<3x4xi32>", x=x, y=y)
    np.testing.assert_array_equal(found, expected(x, y[:, None]))


def test_comparisons_choices_and_sums_are_repeated():
    x, y = counted(4), F32([[1], [2], [3]])
    compared = value(
        "%r = chlo.broadcast_compare %x, %y {comparison_direction = #chlo<comparison_direction LT>}"
        " : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xi1>",
        "tensor<3x4xi1>", x=x, y=y,
    )  # fmt: skip
    np.testing.assert_array_equal(compared, x < y)
    chosen = value(
        "%r = chlo.broadcast_select %p, %x, %y"
        " : (tensor<3x1xi1>, tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>",
        "tensor<3x4xf32>", p=np.array([[True], [False], [True]]), x=x, y=y,
    )  # fmt: skip
    np.testing.assert_array_equal(chosen, np.where([[True], [False], [True]], x, y))
    for name, known in (("zeta", 1.6449341), ("polygamma", 2 * -1.2020569)):
        line = f"%r = chlo.broadcast_{name} %x, %y : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>"
        found = value(line, "tensor<2xf32>", x=F32([2, 2]), y=F32(1))
        np.testing.assert_allclose(found, [known] * 2, rtol=1e-5)


def test_sizes_that_do_not_go_together_are_refused():
    with pytest.raises(hlo.HloError, match="sizes 4 and 3 do not go together"):
        value("%r = chlo.broadcast_add %x, %y : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>",
              "tensor<4xf32>", x=counted(4), y=counted(3))  # fmt: skip


@pytest.mark.parametrize("kind", ["f16", "bf16", "f8E5M2", "f32"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("is_inf", [True, True, False, False]),
        ("is_pos_inf", [True, False, False, False]),
        ("is_neg_inf", [False, True, False, False]),
    ],
)
def test_infinity_is_found_in_every_float(name, expected, kind):
    shape = stablehlo.types.tensor("4x", kind)
    x = np.array([np.inf, -np.inf, 1, np.nan]).astype(shape.element_type.dtype)
    line = f"%r = chlo.{name} %x : tensor<4x{kind}> -> tensor<4xi1>"
    assert value(line, "tensor<4xi1>", x=x).tolist() == expected


def test_the_conjugate_of_a_real_number_is_the_number():
    x = F32([1, -2, np.inf])
    line = "%r = chlo.conj %x : tensor<3xf32> -> tensor<3xf32>"
    np.testing.assert_array_equal(value(line, "tensor<3xf32>", x=x), x)


def test_the_square_of_a_complex_number_is_no_nan_for_infinite_parts():
    """Which XLA multiplies by parts: -inf + inf i, not nan + inf i."""
    x = np.array([complex(2, 3), complex(1, -np.inf), complex(4, -4)], np.complex64)
    line = "%r = chlo.square %x : tensor<3xcomplex<f32>> -> tensor<3xcomplex<f32>>"
    found = value(line, "tensor<3xcomplex<f32>>", x=x)
    assert found.real.tolist() == [-5, -np.inf, 0]
    assert found.imag.tolist() == [12, -np.inf, -32]


@pytest.mark.parametrize(("kind", "number"), [("f32", "3.2 : f32"), ("i32", "7 : i32")])
def test_a_constant_is_as_large_as_an_operand(kind, number):
    types = f"(tensor<2x2xf32>) -> tensor<2x2x{kind}>"
    line = f'%r = "chlo.constant_like"(%x) {{value = {number}}} : {types}'
    found = value(line, f"tensor<2x2x{kind}>", x=counted(2, 2))
    np.testing.assert_array_equal(found, np.full((2, 2), float(number.split()[0]), found.dtype))


@pytest.mark.parametrize("backwards", [False, True])
def test_a_scan_carries_values_from_slice_to_slice(backwards):
    lines = f"""
      %r, %c = "chlo.scan"(%y, %x) <{{dimension = 0 : i64, is_reverse = {str(backwards).lower()},
          operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}}> ({{
      ^bb0(%input: tensor<4xf32>, %carry: tensor<4xf32>):
        %1 = stablehlo.add %input, %carry : tensor<4xf32>
        stablehlo.return %1, %1 : tensor<4xf32>, tensor<4xf32>
      }}) : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>)"""
    y, x = counted(3, 4), F32([1, 2, 3, 4])
    order = slice(None, None, -1) if backwards else slice(None)
    expected = (np.cumsum(y[order], axis=0) + x)[order]
    np.testing.assert_array_equal(value(lines, "tensor<3x4xf32>", y=y, x=x), expected)
    custom = """
      %r, %c = chlo.scan(%y) inits (%x) dimension=0 {
      ^bb0(%input: tensor<4xf32>, %carry: tensor<4xf32>):
        %1 = stablehlo.add %input, %carry : tensor<4xf32>
        stablehlo.return %1, %1 : tensor<4xf32>, tensor<4xf32>
      } : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>)"""
    expected = np.cumsum(y, axis=0) + x
    np.testing.assert_array_equal(value(custom, "tensor<3x4xf32>", y=y, x=x), expected)


# ----------------------------------------------------------- products and selections


@pytest.mark.parametrize(
    ("config", "left", "right"),
    [
        ("ij,jk->ik", (2, 3), (3, 2)),
        ("bij,bjk->kbi", (2, 3, 4), (2, 4, 5)),
        ("i,j->ji", (2,), (3,)),
        ("i,i->i", (3,), (3,)),
        ("ij,k->k", (2, 3), (4,)),
        (",ii->i", (), (3, 3)),
        ("iji,j->j", (2, 3, 2), (3,)),
        ("...x,xy->...y", (1, 5, 3), (3, 2)),
        ("...xy,...yz->...xz", (4, 3, 2), (2, 5)),
        ("i...,...->...i", (3, 2), (4, 2)),
    ],
)
def test_einsum_is_numpys(config, left, right):
    x, y = counted(*left), counted(*right) + 1
    expected = np.einsum(config, x, y)
    types = [f"tensor<{''.join(f'{n}x' for n in a.shape)}f32>" for a in (x, y, expected)]
    signature = f"({types[0]}, {types[1]}) -> {types[2]}"
    line = f'%r = stablehlo.einsum %x, %y, config = "{config}" : {signature}'
    np.testing.assert_array_equal(value(line, types[2], x=x, y=y), expected)


@pytest.mark.parametrize(
    "config",
    ["ij,jk", "ijk,jk->ik", "ij,jk->il", "ij,jk->ii", "ij,j...k...->ik", "ij...k,jk->ik"],
)
def test_letters_that_name_no_dimensions_are_refused(config):
    line = f'%r = stablehlo.einsum %x, %y, config = "{config}" : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>'  # noqa: E501
    with pytest.raises(hlo.HloError, match="does not name the dimensions"):
        value(line, "tensor<2x2xf32>", x=counted(2, 3), y=counted(3, 2))


def test_a_convolution_may_number_its_dimensions():
    """`[b, 0, f]x[0, i, o]->[b, 0, f]`, in other words."""
    line = """%r = "stablehlo.convolution"(%x, %y) {
      dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0,
        input_feature_dimension = 2, input_spatial_dimensions = [1],
        kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 2,
        kernel_spatial_dimensions = [0], output_batch_dimension = 0,
        output_feature_dimension = 2, output_spatial_dimensions = [1]>,
      batch_group_count = 1 : i64, feature_group_count = 1 : i64
    } : (tensor<1x4x1xf32>, tensor<2x1x1xf32>) -> tensor<1x3x1xf32>"""
    x, y = counted(1, 4, 1), F32([[[1]], [[10]]])
    found = value(line, "tensor<1x3x1xf32>", x=x, y=y)
    np.testing.assert_array_equal(found.ravel(), [10, 21, 32])


def test_a_slice_may_end_so_far_from_its_start():
    """`limits = starts + sizes`: the sizes are known, though the limits are not."""
    lines = """
      %sizes = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
      %ones = stablehlo.constant dense<1> : tensor<2xi32>
      %limits = stablehlo.add %i, %sizes : tensor<2xi32>
      %r = stablehlo.real_dynamic_slice %x, %i, %limits, %ones :
        (tensor<3x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<1x2xf32>"""
    found = value(lines, "tensor<1x2xf32>", x=counted(3, 4), i=np.int32([2, 1]))
    np.testing.assert_array_equal(found, [[9, 10]])


@pytest.mark.parametrize(
    ("shape", "index", "dim", "batch"),
    [
        ((4,), (2,), 0, 0),
        ((3, 4, 2), (5,), 1, 0),
        ((3, 4), (2, 2), 1, 0),
        ((2, 3, 4, 5), (2, 6), 2, 1),
        ((2, 3, 4), (2, 3, 2), 2, 2),
    ],
)
def test_torch_index_select_takes_slices(shape, index, dim, batch):
    x = counted(*shape)
    i = np.random.default_rng(0).integers(0, shape[dim], index).astype(np.int32)
    if batch == 0:
        expected = np.take(x, i, axis=dim)
    else:
        expected = np.stack([
            np.take(x[at], i[at], axis=dim - batch) for at in np.ndindex(*shape[:batch])
        ])  # fmt: skip
        expected = expected.reshape(*shape[:batch], *expected.shape[1:])
    types = ["".join(f"{n}x" for n in dims) for dims in (shape, index, expected.shape)]
    line = f"""%r = "stablehlo.torch_index_select"(%x, %i)
        {{dim = {dim} : i64, batch_dims = {batch} : i64}}
        : (tensor<{types[0]}f32>, tensor<{types[1]}i32>) -> tensor<{types[2]}f32>"""
    found = value(line, f"tensor<{types[2]}f32>", x=x, i=i)
    np.testing.assert_array_equal(found, expected)


# ------------------------------------------------------------------------ reductions

REDUCED = """
    %r = stablehlo.reduce(%x init: %z) across dimensions = [0]
      : (tensor<{n}xf32>, tensor<f32>) -> tensor<{kind}>
     reducer(%a: tensor<{kind}>, %b: tensor<{kind}>) {{
      {line}
      stablehlo.return %{what} : tensor<{kind}>
    }}"""


@pytest.mark.parametrize(("n", "expected"), [(4, 7), (0, 1)])
def test_a_reducer_may_return_a_value_from_around_it(n, expected):
    """Which is the result, if there is any element."""
    lines = REDUCED.format(n=n, kind="f32", line="", what="y")
    given = {"x": counted(n), "z": F32(1), "y": F32(7)}
    assert value(lines, "tensor<f32>", **given) == expected


def test_a_reducer_does_not_compute_with_values_from_around_it():
    lines = REDUCED.format(
        n=4, kind="f32", what="s", line="%s = stablehlo.add %a, %y : tensor<f32>"
    )
    with pytest.raises(hlo.HloError, match="can't use `%y` from around it"):
        value(lines, "tensor<f32>", x=counted(4), z=F32(1), y=F32(7))


def test_a_reducer_of_a_wider_type_sums_in_that_type():
    line = "%s = stablehlo.add %a, %b : tensor<f64>"
    lines = REDUCED.format(n=2, kind="f64", line=line, what="s")
    found = value(lines, "tensor<f64>", x=F32([2**24, 1]), z=F32(0))
    assert (found.dtype, float(found)) == (np.float64, 2**24 + 1)


# ----------------------------------------------------------------------- comparisons

FITTING = {
    "i32": {"SIGNED"}, "ui32": {"UNSIGNED"}, "i1": {"UNSIGNED"}, "f32": {"FLOAT", "TOTALORDER"},
    "complex<f32>": {"FLOAT"},
}  # fmt: skip


@pytest.mark.parametrize("kind", FITTING)
@pytest.mark.parametrize("word", ["SIGNED", "UNSIGNED", "FLOAT", "TOTALORDER", "NOTYPE", ""])
def test_comparisons_fit_the_type(kind, word):
    """XLA refuses others when it compiles them."""
    tensor, after = f"tensor<2x{kind}>", f", {word}" if word else ""
    text = (
        f"%r = stablehlo.compare EQ, %x, %y{after} : ({tensor}, {tensor}) -> tensor<2xi1>",
        f"%x: {tensor}, %y: {tensor}",
        "tensor<2xi1>",
    )
    if word in FITTING[kind] | {"NOTYPE", ""}:
        assert module_of(*text).entry.root.opcode == "compare"
        return
    with pytest.raises(hlo.HloError, match=f"not as {word}"):
        module_of(*text)


# --------------------------------------------------------------------------- messages


def test_messages_begin_and_end():
    lines = """
      %t = stablehlo.create_token : !stablehlo.token
      %u = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
      %r, %v = "stablehlo.recv"(%u) {channel_handle = #stablehlo.channel_handle<handle = 2, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)"""  # noqa: E501
    module = module_of(lines, "%x: tensor<2xf32>", "tensor<2xf32>")
    device = Device()
    device.from_host[2] = deque([F32([5, 6])])
    found = interpreter.evaluate(module, F32([1, 2]), devices=[device])
    assert found.tolist() == [5, 6]
    assert [each.tolist() for each in device.to_host[1]] == [[1, 2]]


def test_messages_between_devices_name_them():
    lines = """
      %t = stablehlo.create_token : !stablehlo.token
      %u = "stablehlo.send"(%x, %x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (tensor<2xf32>, tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
      %q, %r, %v = "stablehlo.recv"(%u) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (!stablehlo.token) -> (tensor<2xf32>, tensor<2xf32>, !stablehlo.token)"""  # noqa: E501
    module = module_of(lines, "%x: tensor<2xf32>", "tensor<2xf32>")
    assert "_xla_send_recv_source_target_pairs={{0,1},{1,0}}" in str(module)
    found = interpreter.evaluate(module, per_device=[[F32([1, 2])], [F32([3, 4])]])
    assert [each.tolist() for each in found] == [[3, 4], [1, 2]]


ASYNC = """
      %f = "stablehlo.async_start"(%x) ({
      ^bb0(%a: tensor<2xf32>):
        %1 = "stablehlo.all_reduce"(%a) ({
        ^bb0(%b: tensor<f32>, %c: tensor<f32>):
          %2 = stablehlo.add %b, %c : tensor<f32>
          stablehlo.return %2 : tensor<f32>
        }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
        stablehlo.return %1 : tensor<2xf32>
      }) : (tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>>
      %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>"""


def test_a_block_runs_beside_others():
    module = module_of(ASYNC, "%x: tensor<2xf32>", "tensor<2xf32>")
    found = interpreter.evaluate(module, per_device=[[F32([1, 2])], [F32([3, 4])]])
    assert [each.tolist() for each in found] == [[4, 6], [4, 6]]


def test_buffers_are_handed_on():
    lines = """
      %0 = stablehlo.custom_call @Pin(%x) {api_version = 4 : i32} : (tensor<2xf32>) -> memref<2xf32>
      %r = stablehlo.custom_call @Unpin(%0) {api_version = 4 : i32}
        : (memref<2xf32>) -> tensor<2xf32>"""
    found = value(lines, "tensor<2xf32>", x=F32([1, 2]))
    assert found.tolist() == [1, 2]


# ------------------------------------------------------------------------------- MHLO


@pytest.mark.parametrize(
    ("line", "kind", "expected"),
    [
        ('"mhlo.broadcast_in_dim"(%x) {broadcast_dimensions = dense<1> : tensor<1xi64>} : (tensor<4xf32>) -> tensor<2x4xf32>', "2x4xf32", lambda x: np.stack([x, x])),  # noqa: E501
        ('"mhlo.slice"(%x) {start_indices = dense<1> : tensor<1xi64>, limit_indices = dense<3> : tensor<1xi64>, strides = dense<1> : tensor<1xi64>} : (tensor<4xf32>) -> tensor<2xf32>', "2xf32", lambda x: x[1:3]),  # noqa: E501
        ('"mhlo.compare"(%x, %x) {comparison_direction = #mhlo<comparison_direction LT>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>', "4xi1", lambda x: x < x),  # noqa: E501
        ('"mhlo.dot_general"(%x, %x) {dot_dimension_numbers = #mhlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>', "f32", lambda x: x @ x),  # noqa: E501
        ('mhlo.reduce(%x init: %z) applies mhlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>', "f32", np.sum),  # noqa: E501
        ('"mhlo.copy"(%x) : (tensor<4xf32>) -> tensor<4xf32>', "4xf32", lambda x: x),
        ('"mhlo.bitcast"(%x) : (tensor<4xf32>) -> tensor<2x2xf32>', "2x2xf32", lambda x: x.reshape(2, 2)),  # noqa: E501
        ('"mhlo.add_dependency"(%x, %t) : (tensor<4xf32>, !mhlo.token) -> tensor<4xf32>', "4xf32", lambda x: x),  # noqa: E501
        ('"mhlo.domain"(%x) {kind = #mhlo<kind sharding>, entry_metadata = "", exit_metadata = ""} : (tensor<4xf32>) -> tensor<4xf32>', "4xf32", lambda x: x),  # noqa: E501
        ('"mhlo.fusion"(%x) ({\n^bb0(%a: tensor<4xf32>):\n %s = mhlo.add %a, %a : tensor<4xf32>\n mhlo.return %s : tensor<4xf32>\n}) {fusion_kind = #mhlo<fusion_kind kLoop>} : (tensor<4xf32>) -> tensor<4xf32>', "4xf32", lambda x: 2 * x),  # noqa: E501
        ('"mhlo.map"(%x) ({\n^bb0(%a: tensor<f32>):\n %s = mhlo.add %a, %a : tensor<f32>\n mhlo.return %s : tensor<f32>\n}) {dimensions = dense<0> : tensor<1xi64>} : (tensor<4xf32>) -> tensor<4xf32>', "4xf32", lambda x: 2 * x),  # noqa: E501
        ('mhlo.sinh %x : tensor<4xf32>', "4xf32", np.sinh),
        ('"mhlo.case"(%i) ({\n mhlo.return %x : tensor<4xf32>\n}, {\n %s = mhlo.negate %x : tensor<4xf32>\n mhlo.return %s : tensor<4xf32>\n}) : (tensor<i32>) -> tensor<4xf32>', "4xf32", lambda x: -x),  # noqa: E501
    ],
)  # fmt: skip
def test_mhlo_is_read_by_the_same_table(line, kind, expected):
    before = """
      %z = mhlo.constant dense<0.0> : tensor<f32>
      %i = mhlo.constant dense<1> : tensor<i32>
      %t = mhlo.create_token : !mhlo.token
      "mhlo.trace"(%x) {tag = "x"} : (tensor<4xf32>) -> ()
      %r = """
    x = F32([1, 2, 3, 4])
    np.testing.assert_allclose(value(before + line, f"tensor<{kind}>", x=x), expected(x), rtol=1e-6)


def test_functions_of_mhlo_run_beside_others():
    f = "func.func private @f(%a: tensor<2xf32>) -> tensor<2xf32> {\n  %s = mhlo.add %a, %a : tensor<2xf32>\n  return %s : tensor<2xf32>\n}\n"  # noqa: E501
    lines = """
      %s = "mhlo.async_start"(%x) {called_computation = @f, execution_thread = "main"} : (tensor<2xf32>) -> !mhlo.async_bundle<tensor<2xf32>, tensor<2xf32>>
      %r = "mhlo.async_done"(%s) : (!mhlo.async_bundle<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>"""  # noqa: E501
    module = module_of(lines, "%x: tensor<2xf32>", "tensor<2xf32>", f)
    assert interpreter.evaluate(module, F32([1, 2])).tolist() == [2, 4]


def test_random_bits_of_mhlo():
    stochastic = (
        '%r = "mhlo.stochastic_convert"(%x, %u) : (tensor<2xf32>, tensor<2xui32>) -> tensor<2xi8>'
    )
    module = module_of(stochastic, "%x: tensor<2xf32>, %u: tensor<2xui32>", "tensor<2xi8>")
    found = interpreter.evaluate(module, F32([1, 2]), np.uint32([0, 0]))
    assert found.tolist() == [1, 2]
    state = '%r = "mhlo.xla.rng_get_and_update_state"() {delta = 1 : i64} : () -> tensor<2xui64>'
    assert interpreter.evaluate(module_of(state, "", "tensor<2xui64>")).shape == (2,)
