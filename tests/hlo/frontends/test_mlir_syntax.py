"""MLIR's ways to write the same program: beginnings, aliases, attributes, resources, entries."""

import warnings

import numpy as np
import pytest

import hlo
import interpreter
from hlo.files import parse_either
from hlo.frontends import stablehlo
from interpreter.engine.elided import ElidedConstantWarning

DOUBLE = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.add %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}"""
GENERIC = """"func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>,
    sym_name = "main"}> ({
^bb0(%x: tensor<4xf32>):
  %r = "stablehlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%r) : (tensor<4xf32>) -> ()
}) : () -> ()"""
X = np.float32([1, -2, 3, 0.5])


def value(text, *arguments, entry=""):
    module = stablehlo.parse(text, entry=entry)
    hlo.verify(module)
    return interpreter.evaluate(module, *arguments)


@pytest.mark.parametrize(
    "text",
    [
        DOUBLE,
        f"module {{\n{DOUBLE}\n}}",
        f'module @"a b" {{\n{DOUBLE}\n}}',
        f"module @m attributes {{a.b, c = 1 : i32}} {{\n{DOUBLE}\n}}",
        f"builtin.module @m {{\n{DOUBLE}\n}}",
        f"builtin.module attributes {{a.b}} {{\n{DOUBLE}\n}}",
        f"module {{\n  module @inner {{\n{DOUBLE}\n}}\n}}",
        GENERIC,
        f'"builtin.module"() ({{\n{GENERIC}\n}}) : () -> ()',
        f'sdy.mesh @mesh = <["a"=2]>\n{DOUBLE}',
        f'sdy.mesh @mesh = #sdy.mesh<["a"=2]>\n{DOUBLE}',
        f'"sdy.mesh"() <{{mesh = #sdy.mesh<["a"=2]>, sym_name = "mesh"}}> : () -> ()\n{DOUBLE}',
        f"!vec = tensor<4xf32>\n{DOUBLE}".replace("tensor<4xf32>", "!vec").replace(
            "= !vec", "= tensor<4xf32>", 1
        ),
        f"#map = affine_map<(d0) -> (d0)>\n{DOUBLE}",
        f"#row = #sparse_tensor.encoding<{{ map = (d0) -> (d0 : compressed) }}>\n{DOUBLE}",
        DOUBLE.replace("func.func", "func"),
        DOUBLE.replace("func.func", "func.func public"),
        DOUBLE.replace("func.func", "func private"),
        "// what for\n\n  // and by whom\n" + DOUBLE,
        "{-#\n  dialect_resources: {builtin: {}}\n#-}\n" + DOUBLE,
    ],
)
def test_a_text_is_known_by_its_beginning(text):
    module = parse_either(text)
    np.testing.assert_array_equal(interpreter.evaluate(module, X), 2 * X)


@pytest.mark.parametrize(
    "line",
    [
        "cf.br ^bb1(%x, %x : tensor<4xf32>, tensor<4xf32>)",
        "cf.cond_br %p, ^bb1(%x : tensor<4xf32>), ^bb2",
        "call_indirect %f(%x) : (tensor<4xf32>) -> ()",
        "linalg.fill ins(%x : f32) outs(%y : tensor<4xf32>)",
    ],
)
def test_other_functions_may_use_what_hlo_has_not(line):
    """Functions that the entry does not call are read, but not translated."""
    other = f"func.func @other(%x: tensor<4xf32>) {{\n{line}\n^bb1(%a: tensor<4xf32>):\nreturn\n}}"
    np.testing.assert_array_equal(value(f"{DOUBLE}\n{other}", X), 2 * X)
    with pytest.raises(hlo.HloError, match="HLO has nothing for"):
        value(f"{DOUBLE}\n{other}", X, entry="other")


def test_a_file_is_known_by_its_end(tmp_path):
    """Where nothing else tells, as the error shows."""
    path = tmp_path / "m.mlir"
    path.write_text("some.op\n" + DOUBLE)
    np.testing.assert_array_equal(interpreter.evaluate(hlo.load(path), X), 2 * X)
    path.write_text("HloModule m\nENTRY e {\n  ROOT x = f32[4] parameter(0)\n}\n")
    np.testing.assert_array_equal(interpreter.evaluate(hlo.load(path), X), X)
    path.write_text("what is this")
    with pytest.raises(hlo.HloError) as caught:
        hlo.load(path)
    assert caught.value.code == "HLO012"


ATTRIBUTES = """
module @m attributes {tf_saved_model.semantics, transform.with_named_sequence, a = 1 : i32} {
  func.func @main(%x: tensor<4xf32> {my.flag, n.b = "c"}) -> (tensor<4xf32> {my.flag, d.e}) attributes {f.g, h = [1, 2]} {
    %0 = stablehlo.add %x, %x {note.name = "a", note.keep} : tensor<4xf32>
    %1 = "stablehlo.add"(%0, %x) {note.keep, other} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return {a.b} %1 : tensor<4xf32>
  }
}
"""  # noqa: E501  as it is written


def test_attributes_without_a_value_may_have_dots_in_their_names():
    np.testing.assert_array_equal(value(ATTRIBUTES, X), 3 * X)


LOOP = """
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c3 = stablehlo.constant dense<3> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %r:2 = stablehlo.while(%i = %c0, %a = %x) : tensor<i32>, tensor<4xf32>
     attributes {mhlo.frontend_attributes = {my = "meta"}}
     cond {
      %p = stablehlo.compare LT, %i, %c3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %n = stablehlo.add %i, %c1 : tensor<i32>
      %b = stablehlo.add %a, %a : tensor<4xf32>
      stablehlo.return %n, %b : tensor<i32>, tensor<4xf32>
    }
    return %r#1 : tensor<4xf32>
  }
"""


def test_a_loop_has_attributes_after_its_types():
    """JAX writes them for a loop under `set_xla_metadata`."""
    module = stablehlo.parse(LOOP)
    np.testing.assert_array_equal(interpreter.evaluate(module, X), 8 * X)
    (loop,) = (i for i in module.entry.instructions if i.opcode == "while")
    assert loop.annotations.frontend_attributes.get("my") == "meta"
    generic = LOOP.replace("stablehlo.", "mhlo.")
    np.testing.assert_array_equal(value(generic, X), 8 * X)


def test_a_loop_may_have_no_state():
    text = """
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    stablehlo.while()
     cond {
      %c = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      stablehlo.return
    }
    return %x : tensor<4xf32>
  }"""
    np.testing.assert_array_equal(value(text, X), X)


def test_aliases_stand_for_types_and_attributes():
    text = """
    !vec = tensor<4xf32>
    !pair = tuple<!vec, !vec>
    #cst = dense<[1.0, 2.0, 3.0, 4.0]> : !vec
    #half = 5.000000e-01 : f32
    #dims = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>
    func.func @main(%x: !vec) -> tensor<f32> {
      %c = stablehlo.constant #cst
      %0 = stablehlo.add %x, %c : !vec
      %d = "stablehlo.constant"() <{value = #cst}> : () -> !vec
      %t = stablehlo.tuple %d, %0 : !pair
      %1 = stablehlo.get_tuple_element %t[1] : (!pair) -> !vec
      %r = "stablehlo.dot_general"(%1, %d) <{dot_dimension_numbers = #dims}> : (!vec, !vec) -> tensor<f32>
      %h = "chlo.constant_like"(%r) {value = #half} : (tensor<f32>) -> tensor<f32>
      %s = stablehlo.multiply %r, %h : tensor<f32>
      return %s : tensor<f32>
    }"""  # noqa: E501  as it is written
    c = np.float32([1, 2, 3, 4])
    assert value(text, X) == (X + c) @ c / 2


@pytest.mark.parametrize(
    ("kind", "digits", "values"),
    [
        ("4xf32", "040000000000803F00000040000040400000A0BF", [1, 2, 3, -1.25]),
        ("4xf32", "040000000000803F", [1, 1, 1, 1]),
        ("2x2xi16", "02000000010002000300FCFF", [[1, 2], [3, -4]]),
        ("3xi1", "01000000010001", [True, False, True]),
        ("9xi1", "010000000200", [False, True] + [False] * 7),
    ],
)
def test_constants_by_name_are_in_a_block_of_resources(kind, digits, values):
    text = f"""
    func.func @main() -> tensor<{kind}> {{
      %r = stablehlo.constant dense_resource<w> : tensor<{kind}>
      return %r : tensor<{kind}>
    }}
    {{-#
      dialect_resources: {{
        builtin: {{
          other: "0x0100000000",
          w: "0x{digits}"
        }}
      }}
    #-}}
    """
    found = value(text)
    np.testing.assert_array_equal(found, np.array(values, found.dtype))


def test_numbers_that_are_left_out_are_made_up_with_a_warning():
    text = DOUBLE.replace("stablehlo.add %x, %x", "stablehlo.constant dense_resource<__elided__>")
    module = stablehlo.parse(text)
    with pytest.warns(ElidedConstantWarning, match="r, line 2"):
        interpreter.evaluate(module, X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        interpreter.evaluate(module, X)
    twice = text.replace("  return", "  %s = stablehlo.constant dense_resource<__elided__> : "
                         "tensor<4xf32>\n  return")  # fmt: skip
    first, second = (
        i.attrs.literal for i in stablehlo.parse(twice).entry.instructions if i.opcode == "constant"
    )
    assert first != second


TWO = f"""
{DOUBLE.replace("@main", "@twice")}
func.func @same(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %r = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %s = stablehlo.subtract %r, %x : tensor<4xf32>
  return %s : tensor<4xf32>
}}
func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
"""


def test_the_entry_may_be_any_function(tmp_path):
    np.testing.assert_array_equal(value(TWO, X, entry="twice"), 2 * X)
    np.testing.assert_array_equal(value(TWO, X, entry="same"), X)
    path = tmp_path / "two.mlir"
    path.write_text(TWO)
    np.testing.assert_array_equal(interpreter.evaluate(hlo.load(path, "same"), X), X)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("", ["no function `main`", "--entry NAME", "`twice`, `same`"]),
        ("sane", ["no function `sane`", "`same`"]),
        ("elsewhere", ["function @elsewhere has no body"]),
    ],
)
def test_an_entry_that_is_missing_is_told_with_those_that_there_are(entry, told):
    with pytest.raises(hlo.HloError) as caught:
        stablehlo.parse(TWO, "two.mlir", entry)
    assert all(part in str(caught.value) for part in told)


def test_only_stablehlo_has_another_entry():
    with pytest.raises(hlo.HloError, match="no other entry than its own can be chosen"):
        parse_either("HloModule m\nENTRY e {\n  ROOT x = f32[4] parameter(0)\n}\n", entry="f")


RESHAPED = """
func.func @main(%x: tensor<4xf32>, %n: tensor<2xi32>) -> tensor<4xf32> {
  %s = stablehlo.constant dense<[2, 2]> : tensor<2xi32>
  %r = stablehlo.dynamic_reshape %x, %s : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %t = stablehlo.reshape %r : (tensor<?x?xf32>) -> tensor<4xf32>
  return %t : tensor<4xf32>
}
"""


def test_sizes_that_the_type_leaves_open_come_from_constants_and_operands():
    n = np.int32([2, 2])
    np.testing.assert_array_equal(value(RESHAPED, X, n), X)
    with pytest.raises(hlo.HloError) as caught:
        stablehlo.parse(RESHAPED.replace("%x, %s", "%x, %n"))
    assert caught.value.code == "HLO042"
    assert caught.value.span.line == 4
    assert "#stablehlo.bounds<8, ?>" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("%r = stablehlo.constant dense_resource<v> : tensor<4xf32>", "no resource `v`"),
        ("%r = stablehlo.constant #none", "stablehlo.constant"),
        ("%r = stablehlo.add %x, %x : !vex", "no type `!vex`"),
        ("%r = stablehlo.add %x, %x : tensor<*xf32>", "without a rank"),
        ("%r = other.add %x, %x : tensor<4xf32>", "operations of these dialects are read"),
        ("%r = mhlo.addd %x, %x : tensor<4xf32>", "`stablehlo.add`?"),
        ("%r = chlo.erfinv %x : tensor<4xf32> -> tensor<4xf32>", "`chlo.erf_inv`?"),
        ("%r = sdy.shard %x : tensor<4xf32>", "nothing for `sdy.shard`"),
    ],
)
def test_errors_tell_the_line(line, told):
    text = DOUBLE.replace("%r = stablehlo.add %x, %x : tensor<4xf32>", line)
    with pytest.raises(hlo.HloError) as caught:
        stablehlo.parse("!vec = tensor<4xf32>\n" + text)
    assert told in str(caught.value)
    assert caught.value.span.line == 3


def test_a_function_of_quantized_types_is_refused_and_others_are_read():
    quantized = DOUBLE.replace("@main", "@q").replace("4xf32", "4x!quant.uniform<i8:f32, 34.0:16>")
    text = f"{quantized}\n{DOUBLE}"
    np.testing.assert_array_equal(value(text, X), 2 * X)
    with pytest.raises(hlo.HloError, match="no element type `!quant") as caught:
        stablehlo.parse(text, entry="q")
    assert caught.value.span.line == 1


def test_functions_beside_a_module_are_read():
    """As in files of tests, where a module of its own comes after functions."""
    text = f"{DOUBLE.replace('@main', '@before')}\nmodule @m {{\n{DOUBLE}\n}}"
    for entry in ("before", "main"):
        module = stablehlo.parse(text, entry=entry)
        np.testing.assert_array_equal(interpreter.evaluate(module, X), 2 * X)


def test_functions_have_different_names():
    with pytest.raises(hlo.HloError, match="there are two functions @main") as caught:
        stablehlo.parse(f"{DOUBLE}\n{DOUBLE}")
    assert caught.value.span.line == DOUBLE.count("\n") + 2


def test_a_precision_is_one_of_three():
    line = "%r = stablehlo.dot %x, %x, precision = [DEFAULT, HIHG]"
    text = f"func.func @main(%x: tensor<4xf32>) -> tensor<f32> {{\n{line} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>\nreturn %r : tensor<f32>\n}}"  # noqa: E501
    with pytest.raises(hlo.HloError, match="there is no precision `HIHG`") as caught:
        stablehlo.parse(text)
    assert caught.value.code == "HLO013"
    assert "`high`" in str(caught.value)
