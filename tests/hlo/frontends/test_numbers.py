"""Numbers of StableHLO's text: of attributes, types, arrays and constants, each of a type.

All verdicts are MLIR's (jaxlib 0.10.2), but that `1e5` and `-0` are read here.
"""

import numpy as np
import pytest

import hlo
import interpreter
from hlo.frontends import stablehlo

F = "tensor<4xf32>"
DOUBLE = f"func.func @main(%x: {F}) -> {F} {{\n%r = stablehlo.add %x, %x : {F}\nreturn %r : {F}\n}}"


def spelled(number: str) -> str:
    """A number as a call's configuration holds it after it was read."""
    call = f"stablehlo.custom_call @f() {{mhlo.backend_config = {{a = {number}}}}} : () -> {F}"
    text = f"func.func @main() -> {F} {{\n%r = {call}\nreturn %r : {F}\n}}"
    config = stablehlo.parse(text).entry.root.annotations.backend_config
    return config.removeprefix("{a = ").removesuffix("}")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("7", "7 : i64"),
        ("-128 : i8", "-128 : i8"),
        # A type that says nothing of a sign has two names for half of its numbers.
        ("255 : i8", "-1 : i8"),
        ("18446744073709551615", "-1 : i64"),
        ("255 : ui8", "255 : ui8"),
        ("-0x10 : i8", "-16 : i8"),
        ("00000000000000000000000012 : i8", "12 : i8"),
        ("9223372036854775807 : index", "9223372036854775807 : index"),
        ("1 : i1", "true"),
        ("-1 : i1", "true"),
        ("0 : i1", "false"),
        ("1.5", "1.5 : f64"),
        ("1. : f32", "1.0 : f32"),
        ("1.1 : bf16", "1.1015625 : bf16"),
        # By way of f32 it would be a tie, and 1.0.
        ("1.00390625000091 : bf16", "1.0078125 : bf16"),
        ("1.0e39 : f32", "0x7F800000 : f32"),
        ("1.0e-46 : f32", "0.0 : f32"),
        ("0.0 : f8E8M0FNU", "5.877471754111438e-39 : f8E8M0FNU"),
        ("0x3F800000 : f32", "1.0 : f32"),
        ("0xBC00 : f16", "-1.0 : f16"),
        ("0x3C : f8E4M3FN", "1.5 : f8E4M3FN"),
    ],
)
def test_attributes_are_of_their_types(written, read):
    assert spelled(written) == read


LONG = "9" * 5000  # more digits than Python's own reader takes


@pytest.mark.parametrize(
    ("number", "told"),
    [
        *((n, "does not fit") for n in ("4294967296 : i32", "-129 : si8", "128 : si8")),
        *((n, "does not fit") for n in ("-1 : ui8", "256 : ui8", "2 : i1", "0x10 : i4")),
        *((n, "does not fit") for n in ("9223372036854775808 : index", f"{LONG} : i64")),
        *((n, "does not fit") for n in ("0x10000000000000000 : i64", "18446744073709551616")),
        *(
            (n, "does not fit")
            for n in ("0x13F800000 : f32", "-0x3F800000 : f32", "0x1FF : f8E4M3")
        ),
        *((n, "does not fit") for n in ("array<i64: 18446744073709551616, 1>", "array<i8: 256>")),
        ("array<f32: 0x13F800000>", "does not fit"),
        ("1 : f32", "a float is `1.`"),
        ("array<f32: 1>", "a float is `1.`"),
        ("1.0 : i32", "`1.0` is no integer"),
        ("array<i64: a>", "`a` is no integer"),
        ("array<i1: 1>", "1 is neither true nor false"),
        (f"1 : i{'3' * 50}", "MLIR has no type `i3333333333"),
        ("1 : i16777216", "MLIR has no type `i16777216`"),
        ("dense<[1.0, 256]> : tensor<2xi8>", "1.0 is no s8"),
        ("dense<256> : tensor<2xi8>", "256 does not fit `i8`"),
        ("dense<-1> : tensor<2xui8>", "-1 does not fit `ui8`"),
        ("dense<2> : tensor<2xi1>", "2 does not fit `i1`"),
        ("dense<true> : tensor<2xi8>", "true is no s8"),
        ("dense<0x100> : tensor<2xi8>", "0x100 does not fit `i8`"),
        ("dense<0x13F800000> : tensor<2xf32>", "does not fit `f32`"),
        ("dense<1> : tensor<2xf32>", "a float is `1.0`"),
        ("dense<NaN> : tensor<2xf32>", "`dense<NaN>` is no f32[2]"),
        (f"dense<{LONG}> : tensor<2xi64>", "is no s64[2]"),
        # Lists have the type's dimensions; a number without brackets stands for all.
        ("dense<[1]> : tensor<4xi32>", "`dense<[1]>` is no s32[4]"),
        ("dense<[1, 2, 3, 4]> : tensor<2x2xi32>", "`dense<[1, 2, 3, 4]>` is no s32[2,2]"),
        ("dense<[1.0, 2.0]> : tensor<2xcomplex<f32>>", "is no c64[2]"),
        ("dense<1.0> : tensor<complex<f32>>", "is no c64[]"),
    ],
)
def test_other_numbers_are_refused(number, told):
    with pytest.raises(hlo.HloError) as caught:
        stablehlo.parse(f"module attributes {{a.b = {number}}} {{\n{DOUBLE}\n}}")
    assert told in str(caught.value)
    assert caught.value.code in ("HLO012", "HLO013")
    assert caught.value.span.line == 1


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (f"%r = stablehlo.iota dim = {LONG} : {F}", "does not fit `i64`"),
        (f"%r = stablehlo.iota dim = 1.5 : {F}", "1.5 is no integer"),
        (f'%r = "stablehlo.iota"() <{{iota_dimension = "0"}}> : () -> {F}', "0 is no integer"),
        (f"%r = stablehlo.slice %x [0:{LONG}] : ({F}) -> {F}", "does not fit `i64`"),
        (f"%r = stablehlo.tanh %x : tensor<{LONG}xf32>", "does not fit `index`"),
        ("%r = stablehlo.tanh %x : tensor<9223372036854775808xf32>", "does not fit `index`"),
        ((f'%r = "stablehlo.all_to_all"(%x) <{{split_dimension = 0, concat_dimension = 0, '
         f'split_count = 0, replica_groups = dense<0> : tensor<1x1xi64>}}> : ({F}) -> {F}'),
         "splits into 0 parts"),
        (f"%r:{LONG} = stablehlo.tanh %x : {F}", "does not fit `i64`"),
        (f"%r = stablehlo.reduce_precision %x, format = e{LONG}m1 : {F}", "does not fit `i64`"),
        (f'%r = stablehlo.tanh %x : {F} loc("a":4294967296:1)', "does not fit `ui32`"),
        (f'%r = stablehlo.tanh %x : {F} loc("a":{LONG}:1)', "does not fit `ui32`"),
        (f"%r = stablehlo.tanh %x : tensor<?xf32, #stablehlo.bounds<{LONG}>>", "does not fit"),
        (f"%r = sdy.sharding_constraint %x <mesh<[\"x\"={LONG}]>, [{{\"x\"}}]> : {F}", "mesh"),
        (f"%r = sdy.sharding_constraint %x <@m, [{{\"x\":({LONG})2}}]> : {F}", ""),
    ],
)  # fmt: skip
def test_integers_everywhere_fit(line, told):
    text = DOUBLE.replace(f"%r = stablehlo.add %x, %x : {F}", line)
    with pytest.raises(hlo.HloError) as caught:
        stablehlo.parse('sdy.mesh @m = <["x"=4]>\n' + text)
    assert told in str(caught.value)
    assert caught.value.span.line == 3


def test_bounds_of_a_mesh_fit():
    with pytest.raises(hlo.HloError) as caught:
        stablehlo.parse(f'sdy.mesh @m = <["x"={LONG}]>\n{DOUBLE}')
    assert caught.value.span.line == 1


def test_truth_values_may_be_numbers():
    """As `1 : i1` is `true` for MLIR; a sort that is stable stays so."""
    sort = (
        f'%r = "stablehlo.sort"(%x) <{{dimension = 0, is_stable = 1 : i1}}> ({{\n'
        "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
        "%c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        f"stablehlo.return %c : tensor<i1>\n}}) : ({F}) -> {F}"
    )
    module = stablehlo.parse(DOUBLE.replace(f"%r = stablehlo.add %x, %x : {F}", sort))
    assert "is_stable=true" in str(module)


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        ("dense<[-0x10, 0x7F, 255]>", "3xi8", [-16, 127, -1]),
        ("dense<[0x3F800000, 2.0]>", "2xf32", [1, 2]),
        ("dense<(0x3F800000, -0.0)>", "2xcomplex<f32>", [1, 1]),
        ("dense<1.00390625000091>", "2xbf16", [1.0078125, 1.0078125]),
        ("dense<1.0625000009313226>", "2xf8E4M3FN", [1.125, 1.125]),
        ("dense<[[], []]>", "2x0xf32", [[], []]),
        ("dense<>", "2x0xf32", [[], []]),
        ("dense<[1, 0, -1]>", "3xi1", [True, False, True]),
    ],
)
def test_constants_are_of_their_types(text, kind, values):
    made = (
        f"func.func @main() -> tensor<{kind}> {{\n%r = stablehlo.constant {text} : tensor<{kind}>"
    )
    value = interpreter.evaluate(stablehlo.parse(f"{made}\nreturn %r : tensor<{kind}>\n}}"))
    np.testing.assert_array_equal(value, np.array(values, value.dtype))


def test_an_epsilon_is_an_f32():
    """XLA's text has six digits of the f32, also where the program has more or fewer."""
    text = """func.func @main(%x: tensor<4x3xf32>, %s: tensor<3xf32>) -> tensor<4x3xf32> {
  %y = "stablehlo.batch_norm_inference"(%x, %s, %s, %s, %s) <{epsilon = 1e-45 : f32,
    feature_index = 1 : i64}> : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>,
    tensor<3xf32>) -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}"""
    printed = str(stablehlo.parse(text))
    assert "epsilon=1.4013e-45" in printed
    assert str(hlo.parse(printed)) == printed
    bits = str(stablehlo.parse(text.replace("1e-45", "0x3A83126F")))
    assert "epsilon=0.001," in bits
    with pytest.raises(hlo.HloError, match="epsilon is no f32"):
        stablehlo.parse(text.replace("1e-45 : f32", "1e-45 : f64"))
