"""Loops in lanes multiply by the reciprocals of shared divisors, with equal results."""

import numpy as np
import pytest
from written import For

import emit_c
import hlo
import interpreter
from codegen.expressions import Apply, Expr, Literal, Name, item
from codegen.printer import text
from codegen.statements import Assign, Let
from emit_c.kernels.divide_by_reciprocals import divide_by_reciprocals
from optimizer.analysis.indexing import counter

X = item(Name("x"), counter("i", 64))


def shown(function: str, divisor: Expr, *, simd: bool = True) -> str:
    """The value that a loop over 64 elements divides."""
    body = (
        Let("u32", "own", X),
        Assign(item(Name("r"), counter("i", 64)), Apply(function, (X, divisor))),
    )
    loop = For("i", 64, body, simd=simd)
    return text(divide_by_reciprocals([loop])).splitlines()[-2].strip().removeprefix("r[i] = ")


def test_a_divisor_that_stays_the_same_has_one_reciprocal():
    assert shown("lane_remainder_u32", Name("y")) == "shared_remainder_u32(x[i], y);"
    assert shown("lane_quotient_s8", Name("y")) == "shared_quotient_s8(x[i], y);"


def test_a_literal_of_64_bits_is_divided_by_in_lanes():
    assert shown("remainder_unsigned_u64", Literal(77, "u64")) == "lane_remainder_u64(x[i], 77ull);"
    assert shown("divide_signed_s64", Literal(-3, "s64")) == "lane_quotient_s64(x[i], -3ll);"


@pytest.mark.parametrize(
    ("function", "divisor", "simd"),
    [
        ("lane_remainder_u32", Name("own"), True),
        ("lane_remainder_u32", Name("y"), False),
        ("lane_remainder_u64", Name("y"), True),
        ("remainder_unsigned_u32", Literal(77, "u32"), True),
        ("remainder_unsigned_u64", Literal(64, "u64"), True),
        ("divide_signed_s64", Literal(-8, "s64"), True),
        ("divide_signed_s64", Literal(77, "s64"), False),
    ],
)
def test_others_stay_as_they_are(function, divisor, simd):
    assert shown(function, divisor, simd=simd).startswith(f"{function}(")


@pytest.mark.parametrize("kind", ["s64", "u64"])
@pytest.mark.parametrize("divisor", [1, 3, 77, 2**31 + 1, 2**53 + 1, 2**63 - 25])
def test_values_are_those_of_the_interpreter(kind, divisor):
    """Multiples of the divisor, their neighbours, and both ends of the range."""
    generator = np.random.default_rng(divisor % 1000)
    words = generator.integers(0, 2**64, 1000, np.uint64, endpoint=False)
    multiples = words // np.uint64(divisor) * np.uint64(divisor)
    x = np.concatenate([words >> generator.integers(0, 64, 1000).astype(np.uint64), multiples])
    x = np.concatenate([x, x - np.uint64(1), -x, np.uint64([2**63, 2**64 - 1, 0])]).view(
        {"s64": np.int64, "u64": np.uint64}[kind]
    )
    for sign in (1, -1) if kind == "s64" else (1,):
        module = hlo.parse(f"""HloModule m
ENTRY e {{
  x = {kind}[{len(x)}] parameter(0)
  c = {kind}[] constant({sign * divisor})
  y = {kind}[{len(x)}] broadcast(c), dimensions={{}}
  q = {kind}[{len(x)}] divide(x, y)
  r = {kind}[{len(x)}] remainder(x, y)
  ROOT t = ({kind}[{len(x)}], {kind}[{len(x)}]) tuple(q, r)
}}""")
        executable = emit_c.compile(module)
        assert (f"lane_quotient_{kind}" in executable.source) == (divisor > 1)
        for mine, meant in zip(executable(x), interpreter.evaluate(module, x), strict=True):
            np.testing.assert_array_equal(mine, meant)
