"""StableHLO text becomes HLO: each form of each operation, control flow, and what is refused."""

import re

import numpy as np
import pytest

import hlo
import interpreter
from hlo.frontends import stablehlo


def body(lines, arguments="%x: tensor<4x8xf32>", result="tensor<4x8xf32>"):
    """A program whose function has the lines, and returns `%r`."""
    return (
        f"module @m {{\n  func.func public @main({arguments}) -> {result} {{\n"
        + "".join(f"    {line.strip()}\n" for line in lines.strip().splitlines())
        + f"    return %r : {result}\n  }}\n}}\n"
    )


def entry(text):
    """The lines of the entry computation, without parameters and names."""
    lines = str(stablehlo.parse(text)).partition("ENTRY")[2].strip().splitlines()[1:-1]
    kept = [line.strip() for line in lines if " parameter(" not in line]
    return [re.sub(r"^(ROOT )?%[\w.]+ = ", "", line) for line in kept]


F, S, P = "tensor<4x8xf32>", "tensor<i32>", "tensor<4x8xi1>"
# A line that defines %r, and the instructions that come of it.
ONE_OPERAND = {
    f"%r = stablehlo.tanh %x : {F}": "f32[4,8]{1,0} tanh(%x)",
    f"%r = stablehlo.add %x, %x : {F}": "f32[4,8]{1,0} add(%x, %x)",
    f'%r = "stablehlo.add"(%x, %x) : ({F}, {F}) -> {F}': "f32[4,8]{1,0} add(%x, %x)",
    f"%r = chlo.erf %x : {F} -> {F}": "f32[4,8]{1,0} erf(%x)",
    f"%r = stablehlo.reduce_precision %x, format = e5m10 : {F}":
        "f32[4,8]{1,0} reduce-precision(%x), exponent_bits=5, mantissa_bits=10",
    f"%r = stablehlo.transpose %x, dims = [1, 0] : ({F}) -> tensor<8x4xf32>":
        "f32[8,4]{1,0} transpose(%x), dimensions={1,0}",
    f"%r = stablehlo.reverse %x, dims = [0, 1] : {F}":
        "f32[4,8]{1,0} reverse(%x), dimensions={0,1}",
    f"%r = stablehlo.reshape %x : ({F}) -> tensor<32xf32>": "f32[32]{0} reshape(%x)",
    f"%r = stablehlo.convert %x : ({F}) -> tensor<4x8xbf16>": "bf16[4,8]{1,0} convert(%x)",
    f"%r = stablehlo.bitcast_convert %x : ({F}) -> tensor<4x8xui32>":
        "u32[4,8]{1,0} bitcast-convert(%x)",
    f"%r = stablehlo.slice %x [0:2, 1:8:3] : ({F}) -> tensor<2x3xf32>":
        "f32[2,3]{1,0} slice(%x), slice={[0:2:1], [1:8:3]}",
    f"%r = stablehlo.concatenate %x, %x, dim = 1 : ({F}, {F}) -> tensor<4x16xf32>":
        "f32[4,16]{1,0} concatenate(%x, %x), dimensions={1}",
    f"%r = stablehlo.compare LT, %x, %x, TOTALORDER : ({F}, {F}) -> {P}":
        "pred[4,8]{1,0} compare(%x, %x), direction=LT, type=TOTALORDER",
    f"%r = stablehlo.compare GE, %x, %x : ({F}, {F}) -> {P}":
        "pred[4,8]{1,0} compare(%x, %x), direction=GE",
    f"%r = stablehlo.broadcast_in_dim %x, dims = [2, 0] : ({F}) -> tensor<8x3x4xf32>":
        "f32[8,3,4]{2,1,0} broadcast(%x), dimensions={2,0}",
    f"%r = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1], precision = [HIGH, DEFAULT]"
    f" : ({F}, {F}) -> tensor<4x4xf32>":
        "f32[4,4]{1,0} dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={1},"
        " operand_precision={high,default}",
    f"%r = stablehlo.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = [1] x [1],"
    f" algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32,"
    f" lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3,"
    f" allow_imprecise_accumulation = false> : ({F}, {F}) -> tensor<4xf32>":
        "f32[4]{0} dot(%x, %x), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0},"
        " rhs_contracting_dims={1}, algorithm=dot_tf32_tf32_f32_x3",
    f'%r = stablehlo.custom_call @f(%x) {{api_version = 2 : i32, backend_config = "a"}}'
    f" : ({F}) -> {F}":
        'f32[4,8]{1,0} custom-call(%x), custom_call_target="f",'
        ' api_version=API_VERSION_STATUS_RETURNING, backend_config="a"',
    f'%r = stablehlo.custom_call @f(%x) {{api_version = 0 : i32, backend_config = "a"}}'
    f" : ({F}) -> {F}":
        'f32[4,8]{1,0} custom-call(%x), custom_call_target="f", backend_config="a"',
    # A dictionary in a string is written as HLO's text has it.
    f"%r = stablehlo.custom_call @f(%x) {{backend_config = \"{{\\22n\\22:[1]}}\"}} : ({F}) -> {F}":
        'f32[4,8]{1,0} custom-call(%x), custom_call_target="f", backend_config={"n":[1]}',
    f"%r = stablehlo.custom_call @mhlo.erf(%x) {{mhlo.attributes = {{}}, mhlo.version = 1 : i64}}"
    f" : ({F}) -> {F}": "f32[4,8]{1,0} erf(%x)",
    f"%r = stablehlo.custom_call @f(%x) {{api_version = 4 : i32,"
    f' backend_config = {{n = 3 : i64, s = "b"}}}} : ({F}) -> {F}':
        'f32[4,8]{1,0} custom-call(%x), custom_call_target="f",'
        ' api_version=API_VERSION_TYPED_FFI, backend_config={n = 3 : i64, s = "b"}',
    # The older attribute says that it is typed, whatever version an exported program says.
    f"%r = stablehlo.custom_call @f(%x) {{api_version = 1 : i32, mhlo.backend_config = {{n = 3 :"
    f" i64}}}} : ({F}) -> {F}":
        'f32[4,8]{1,0} custom-call(%x), custom_call_target="f",'
        " api_version=API_VERSION_TYPED_FFI, backend_config={n = 3 : i64}",
    f"%r = stablehlo.custom_call @f(%x) {{mhlo.backend_config = {{a = dense<[1, -2]> :"
    f" tensor<2xi64>, b = dense<> : tensor<0xf32>, c = dense<true> : tensor<i1>, d ="
    f" dense<[[0.1], [2.0]]> : tensor<2x1xf64>, e = dense<7> : tensor<2xui8>}}}} : ({F}) -> {F}":
        'f32[4,8]{1,0} custom-call(%x), custom_call_target="f", api_version=API_VERSION_TYPED_FFI,'
        " backend_config={a = dense<[1, -2]> : tensor<2xi64>, b = dense<> : tensor<0xf32>,"
        " c = dense<true> : tensor<i1>, d = dense<[[0.1], [2.0]]> : tensor<2x1xf64>,"
        " e = dense<[7, 7]> : tensor<2xui8>}",
}  # fmt: skip


@pytest.mark.parametrize("line", ONE_OPERAND)
def test_operations_become_instructions(line):
    result = re.split(r" -> | : ", line)[-1]
    assert entry(body(line, result=result)) == [ONE_OPERAND[line]]


def test_top_k_may_be_encoded_as_a_custom_call():
    call = (
        "%t:2 = stablehlo.custom_call @mhlo.topk(%x)"
        " {mhlo.attributes = {k = 3 : i64, largest = false}, mhlo.version = 1 : i64}"
        f" : ({F}) -> (tensor<4x3xf32>, tensor<4x3xi32>)"
    )
    lines = f"{call}\n%r = stablehlo.negate %t#0 : tensor<4x3xf32>"
    assert entry(body(lines, result="tensor<4x3xf32>")) == [
        "(f32[4,3]{1,0}, s32[4,3]{1,0}) topk(%x), k=3, largest=false",
        "s32[4,3]{1,0} get-tuple-element(%t), index=1",
        "f32[4,3]{1,0} get-tuple-element(%t), index=0",
        "f32[4,3]{1,0} negate(%t.1)",
    ]


def test_dimensions_of_size_one_are_dropped_before_they_are_repeated():
    line = (
        "%r = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x8xf32>"
    )
    assert entry(body(line, "%x: tensor<4x1xf32>")) == [
        "f32[4]{0} reshape(%x)",
        "f32[4,8]{1,0} broadcast(%r), dimensions={0}",
    ]


def test_scalars_of_a_clamp_are_repeated():
    module = stablehlo.parse(
        body(f"%r = stablehlo.clamp %a, %x, %b : ({S}, tensor<3xi32>, {S}) -> tensor<3xi32>",
             f"%a: {S}, %x: tensor<3xi32>, %b: {S}", "tensor<3xi32>")
    )  # fmt: skip
    found = interpreter.evaluate(module, np.int32(1), np.array([0, 2, 9], np.int32), np.int32(5))
    assert found.tolist() == [1, 2, 5]


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        ("dense<[1, -2]>", "2xi32", [1, -2]),
        ("dense<[1.5, -0.0]>", "2xf64", [1.5, -0.0]),
        ("dense<7>", "2xui8", [7, 7]),
        ("dense<[true, false]>", "2xi1", [True, False]),
        ("dense<true>", "2xi1", [True, True]),
        ("dense<[0x7F800000, 0xFFC00000]>", "2xf32", [np.inf, np.nan]),
        ("dense<[(1.0, 2.0), (3.0, -4.0)]>", "2xcomplex<f32>", [1 + 2j, 3 - 4j]),
        ("dense<(1.0, 2.0)>", "2xcomplex<f64>", [1 + 2j, 1 + 2j]),
        ('dense<"0x0000803F00000040">', "2xf32", [1, 2]),
        ('dense<"0x0000803F">', "2xf32", [1, 1]),
        ('dense<"0x0001">', "2xi1", [False, True]),
        ('dense<"0x01">', "2xi1", [True, True]),
        ('dense<"0xFF">', "2xi1", [True, True]),
        ('dense<"0x00">', "2xi1", [False, False]),
        ('dense<"0x0200">', "9xi1", [False, True] + [False] * 7),
        ('dense<"0x0201000000000000">', "8xi1", [True, True] + [False] * 6),
        ("dense<[1.0e300, 0.0]>", "2xf32", [np.inf, 0]),
        ("dense<>", "0xf32", []),
        ("dense<[18446744073709551615, 0]>", "2xui64", [2**64 - 1, 0]),
    ],
)
def test_constants(text, kind, values):
    made = f"%r = stablehlo.constant {text} : tensor<{kind}>"
    value = interpreter.evaluate(stablehlo.parse(body(made, "", f"tensor<{kind}>")))
    np.testing.assert_array_equal(value, np.array(values, value.dtype))


def test_a_large_constant_of_one_number_takes_no_memory():
    kind = "tensor<1000000x1000000xf32>"
    lines = entry(body(f"%r = stablehlo.constant dense<1.0> : {kind}", "", kind))
    assert lines == ["f32[] constant(1)", "f32[1000000,1000000]{1,0} broadcast(%r), dimensions={}"]


REDUCED = """
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%x init: %z) {} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>{}
"""
REDUCER = """
     reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }"""


@pytest.mark.parametrize(
    ("middle", "end"),
    [("applies stablehlo.add across dimensions = [1]", ""), ("across dimensions = [1]", REDUCER)],
)
def test_both_forms_of_a_reduce(middle, end):
    module = stablehlo.parse(body(REDUCED.format(middle, end), result="tensor<4xf32>"))
    assert str(module.entry.root).startswith("%r = f32[4]{0} reduce(%x, %z), dimensions={1}")
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    np.testing.assert_array_equal(interpreter.evaluate(module, x), x.sum(1))


def test_several_results_have_elements():
    text = """
    func.func @main(%x: tensor<6xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
      %r:2 = chlo.top_k(%x, k = 2) : tensor<6xf32> -> (tensor<2xf32>, tensor<2xi32>)
      return %r#0, %r#1 : tensor<2xf32>, tensor<2xi32>
    }"""
    values, places = interpreter.evaluate(stablehlo.parse(text), np.float32([3, 9, 1, 7, 2, 8]))
    assert (values.tolist(), places.tolist()) == ([9, 8], [1, 5])


LOOP = """
    %c = stablehlo.constant dense<0> : tensor<i32>
    %step = stablehlo.constant dense<1> : tensor<i32>
    %r:2 = stablehlo.while(%i = %c, %t = %x) : tensor<i32>, tensor<f32>
    cond {
      %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.add %i, %step : tensor<i32>
      %u = stablehlo.multiply %t, %x : tensor<f32>
      stablehlo.return %j, %u : tensor<i32>, tensor<f32>
    }
"""


def test_values_from_around_a_loop_become_part_of_its_state():
    text = body(LOOP, "%n: tensor<i32>, %x: tensor<f32>", "tensor<f32>").replace("%r :", "%r#1 :")
    module = stablehlo.parse(text)
    loop = next(i for i in module.entry.instructions if i.opcode == "while")
    assert str(loop.shape) == "(s32[], f32[], s32[], f32[])"
    assert interpreter.evaluate(module, np.int32(3), np.float32(2)) == 16
    # Constants are where they are used.
    assert any(i.opcode == "constant" for i in loop.called[1].instructions)


CHOICE = """
    %r = "stablehlo.case"(%k) ({
      %a = stablehlo.sine %x : tensor<f32>
      stablehlo.return %a : tensor<f32>
    }, {
      %b = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %b : tensor<f32>
    }, {
      %z = stablehlo.constant dense<7.0> : tensor<f32>
      stablehlo.return %z : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
"""


@pytest.mark.parametrize(("k", "result"), [(0, np.sin(np.float32(1))), (1, 3), (2, 7)])
def test_branches_are_given_what_they_use(k, result):
    given = "%k: tensor<i32>, %x: tensor<f32>, %y: tensor<f32>"
    module = stablehlo.parse(body(CHOICE, given, "tensor<f32>"))
    found = interpreter.evaluate(module, np.int32(k), np.float32(1), np.float32(2))
    np.testing.assert_allclose(found, result, rtol=1e-6)


def test_functions_become_computations_and_are_made_once():
    text = """
    module @m attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
      func.func public @main(%x: tensor<f32> {tf.aliasing_output = 0 : i32}) -> tensor<f32> {
        %0 = call @twice(%x) : (tensor<f32>) -> tensor<f32>
        %1 = func.call @twice(%0) : (tensor<f32>) -> tensor<f32>
        return %1 : tensor<f32>
      }
      func.func private @twice(%x: tensor<f32>) -> tensor<f32> {
        %0 = stablehlo.add %x, %x : tensor<f32>
        return %0 : tensor<f32>
      }
    }"""
    module = stablehlo.parse(text)
    assert [c.name for c in module.computations] == ["twice", "main"]
    assert module.header.replica_count == 2
    assert module.header.input_output_alias[0].parameter == 0


def test_places_become_metadata():
    text = """
    #loc1 = loc("f.py":10:4 to :20)
    func.func @main(%x: tensor<f32> loc("x")) -> tensor<f32> {
      %0 = stablehlo.sine %x : tensor<f32> loc(#loc3)
      return %0 : tensor<f32> loc(#loc)
    } loc(#loc)
    #loc = loc(unknown)
    #loc2 = loc(callsite(#loc1 at #loc1))
    #loc3 = loc("jit(f)/sin"(#loc2))
    """
    metadata = stablehlo.parse(text).entry.root.annotations.metadata
    assert (metadata.op_name, metadata.source_file, metadata.source_line) == (
        "jit(f)/sin", "f.py", 10)  # fmt: skip


def test_on_one_device_there_is_nothing_to_divide():
    """As `jax.random.split` asks for in a program for one device."""
    text = """
    module @m {
      sdy.mesh @mesh = <["x"=1, "y"=1]> {stablehlo.mesh = {axes = []}}
      sdy.mesh @empty_mesh = <[]>
      sdy.mesh @pair = <["x"=2]>
      func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
        %0 = stablehlo.tanh %x : tensor<3xf32>
        %1 = sdy.sharding_constraint %0 <@empty_mesh, [{?}]> : tensor<3xf32>
        %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}]> : tensor<3xf32>
        return %2 : tensor<3xf32>
      }
    }"""
    assert [i.opcode for i in stablehlo.parse(text).entry.instructions] == ["parameter", "tanh"]
    several = stablehlo.parse(text.replace("<@mesh", "<@pair")).entry.root
    assert several.opcode == "custom-call"
    assert several.annotations.sharding.tiles.dims == (2,)


GATHER = f"""
%r = "stablehlo.gather"(%x, %x) <{{dimension_numbers = 3, slice_sizes = 1}}> : ({F}, {F}) -> {F}
"""
CIRCLE = """
func.func @f() -> tensor<f32> {
  %0 = call @f() : () -> tensor<f32>
  return %0 : tensor<f32>
}"""


@pytest.mark.parametrize(
    ("text", "code", "at", "told"),
    [
        ("module {", "HLO012", (1, 8), "ends too early"),
        ("func.func @f(%x: tensor<2xf32>,\n %y: tensor<?x4xf32>) { return %x : tensor<2xf32> }",
         "HLO013", (2, 2), "`%y` has a size that nobody knows"),
        (body("%r = stablehlo.add %x, : tensor<4xf32>"), None, (3, 5), "add"),
        (body(f"%r = stablehlo.tanh %y : {F}"), "HLO012", (3, 5), "no value `%y`"),
        (body(f"%r = stablehlo.tahn %x : {F}"), "HLO013", (3, 5), "stablehlo.tahn"),
        (body("%r = stablehlo.tanh %x : tensor<3xf32>"), "HLO013", (3, 5), "gives f32[4,8]"),
        (body(f"%r = stablehlo.iota dim = 9 : {F}"), None, (3, 5), "iota"),
        (body(f"%r = stablehlo.constant dense<[1, 2]> : {F}"), "HLO013", (3, 29), "dense"),
        (body(f"%r = sdy.sharding_constraint %x <@m, []> : {F}"), "HLO013", (3, 5), "no mesh @m"),
        (body(f"%r = sdy.all_reduced %x : {F}"), "HLO013", (3, 5), "sdy.all_reduce`?"),
        (body(f"%r, %s = stablehlo.tanh %x : {F}"), "HLO012", (3, 5), "gives 1 value"),
        (body("%r = stablehlo.tanh %x : f32"), "HLO012", (3, 30), "tensor<f32>"),
        (body("").replace("@m", "@m attributes {mhlo.num_replicas = 0 : i32}", 1)
         .replace("%r", "%x"), "HLO012", (1, 1), "num_replicas"),
        (body("%r = stablehlo.tanh %x : tensor<4xq7>"), "HLO013", (3, 30), "element type"),
        (body(f'%r = "stablehlo.transpose"(%x) : ({F}) -> {F}'), "HLO013", (3, 5), "permutation"),
        (body(GATHER), "HLO013", (3, 5), "attributes of stablehlo.gather"),
        ("func.func @f(%x: tensor4xf32) { return }", "HLO013", (1, 18), "type `tensor4xf32`"),
        ("func.func @f(%x: f32) { return }", "HLO012", (1, 18), "tensor<f32>"),
        ("func.func @f() {\n^a:\n}", "HLO012", (1, 1), "without `return`"),
        (body("%r = stablehlo.constant dense<1> : f32"), "HLO012", (3, 40), "tensor<f32>"),
        (body("%r = stablehlo.tanh %x : tuple<f32>"), "HLO012", (3, 36), "tensor<f32>"),
        (CIRCLE, "HLO013", (3, 3), "calls itself"),
        ("func.func @f() { " + "x.y " + "(" * 500 + "}", "HLO012", None, "deep"),
    ],
)  # fmt: skip
def test_errors_point_at_the_text(text, code, at, told):
    with pytest.raises(hlo.HloError) as caught:
        hlo.verify(stablehlo.parse(text, "a.mlir"))
    error = caught.value
    assert told in str(error)
    assert code in (error.code, None)
    if at:
        assert (error.span.line, error.span.column) == at


@pytest.mark.parametrize("line", [0, 2**31, 2**32 - 1])
def test_line_that_xla_cannot_hold_is_no_line(line):
    """What is printed is read as it was."""
    text = """func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %y = stablehlo.sine %x : tensor<f32> loc("sin"("a.py":LINE:0))
  return %y : tensor<f32>
}"""
    read = stablehlo.parse(text.replace("LINE", str(line)))
    assert 'metadata={op_name="sin" source_file="a.py"}' in str(read)
    assert str(hlo.parse(str(read))) == str(read)


def test_names_of_types_become_those_that_are_read():
    text = """func.func public @f32(%pred: tensor<f32>) -> tensor<f32> {
  %s32 = stablehlo.sine %pred : tensor<f32>
  return %s32 : tensor<f32>
}"""
    read = stablehlo.parse(text)
    assert str(hlo.parse(str(read))) == str(read)
