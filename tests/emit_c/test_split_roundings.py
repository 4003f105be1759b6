"""Numbers are rounded to f16 by loops of their own, with the results of the interpreter."""

import numpy as np
import pytest
from numbered_names import Names
from written import For, Let

import emit_c
import hlo
import interpreter
from codegen.expressions import Apply, Literal, Name, item
from codegen.printer import text
from codegen.statements import Assign
from emit_c.kernels.split_roundings import split_roundings
from interpreter.numbers.compare import BITS, compare
from optimizer.analysis.indexing import counter

COMPUTATIONS = """HloModule m
ENTRY e {{
  x = f16[{rows},{n}] parameter(0)
  y = f32[{rows},{n}] parameter(1)
  z = f16[{n}] parameter(2)
  zs = f16[{rows},{n}] broadcast(z), dimensions={{1}}
  product = f16[{rows},{n}] multiply(x, zs)
  sum = f16[{rows},{n}] add(product, x)
  root = f16[{rows},{n}] sqrt(sum)
  rounded = f16[{rows},{n}] convert(y)
  turned = f16[{n},{rows}] transpose(product), dimensions={{1,0}}
  positive = f16[{rows},{n}] maximum(rounded, product)
  wide = f32[{rows},{n}] convert(product)
  ROOT t = (f16[{rows},{n}], f16[{rows},{n}], f16[{n},{rows}], f16[{rows},{n}], f32[{rows},{n}])
    tuple(root, rounded, turned, positive, wide)
}}"""


def arguments(rows, n):
    """Numbers of f16 and of f32 of all sizes: also beyond those of f16, and halfway between two."""
    generator = np.random.default_rng(n)
    x = generator.integers(0, 1 << 16, (rows, n)).astype(np.uint16).view(np.float16)
    y = generator.standard_normal((rows, n)).astype(np.float32)
    y *= np.float32(2) ** generator.integers(-30, 20, (rows, n))
    halfway = generator.integers(0, 1 << 15, n).astype(np.uint16).view(np.float16)
    with np.errstate(invalid="ignore"):
        y[0] = halfway.astype(np.float32) * np.float32(1 + 2**-11)
    y[1, :4] = np.nan, -np.inf, -0.0, 65520
    return x, y, x[::-1].reshape(-1)[:n]


@pytest.mark.parametrize("n", [47, 48, 50, 64, 256, 257, 300, 513])
def test_all_numbers(n):
    module = hlo.parse(COMPUTATIONS.format(rows=7, n=n))
    executable = emit_c.compile(module)
    given = arguments(7, n)
    with np.errstate(all="ignore"):
        wanted = interpreter.evaluate(module, *given)
    for mine, meant in zip(executable(*given), wanted, strict=True):
        assert compare(mine, meant, BITS) is None
    assert ("store_each_f16" in executable.source) == (n >= 48)


def test_results_in_the_place_of_operands():
    module = hlo.parse(
        """HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
        ENTRY e {
          x = f16[1000] parameter(0)
          y = f16[1000] multiply(x, x)
          ROOT z = f16[1000] add(y, x)
        }"""
    )
    x = np.linspace(-300, 300, 1000).astype(np.float16)
    executable = emit_c.compile(module)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(executable(x.copy()), x * x + x)
    assert "narrow_each_f16" in executable.source


NUMBER = counter("i", 300)
PRODUCT = (
    Let("f16", "bits", item(Name("x"), NUMBER)),
    Let("f32", "v", Apply("load_f16", (Name("bits"),))),
    Let("f32", "w", Apply("narrow_f16", (Name("v") * Name("v"),))),
)
SUM = Apply("store_f16", (Name("w") + Name("v"),))


def loop(*inside, count=300, **given):
    return For("i", count, inside, simd=True, **given)


def test_each_rounding_has_a_loop_after_what_it_rounds():
    made = loop(*PRODUCT, Assign(item(Name("y"), NUMBER + 7), SUM), count=100)
    assert (
        text(split_roundings(Names(), [made]))
        == """\
  f32 widened_1[112];
  load_each_f16(widened_1, x, 100);
  f32 rounded_2[112];
  #pragma omp simd
  for (s64 i = 0; i < 100; i++) {
    const f32 v_4 = widened_1[i];
    rounded_2[i] = v_4 * v_4;
  }
  narrow_each_f16(rounded_2, rounded_2, 100);
  f32 rounded_3[112];
  #pragma omp simd
  for (s64 i = 0; i < 100; i++) {
    const f32 v_5 = widened_1[i];
    const f32 w_6 = rounded_2[i];
    rounded_3[i] = w_6 + v_5;
  }
  store_each_f16(y + 7, rounded_3, 100);
"""
    )


def test_long_loops_are_cut_into_blocks():
    blocks, *rest = split_roundings(Names(), [loop(*PRODUCT, Assign(item(Name("y"), NUMBER), SUM))])
    assert (blocks.stop, blocks.step, blocks.simd) == (256, 256, False)
    assert "store_each_f16(y + 256, " in text(rest)


@pytest.mark.parametrize(
    "made",
    [
        loop(*PRODUCT, Assign(item(Name("y"), NUMBER), SUM), count=47),
        loop(*PRODUCT, Assign(item(Name("y"), NUMBER * 2), SUM), reductions=(("+", "t"),)),
        loop(*PRODUCT[:2], Assign(item(Name("y"), NUMBER), Name("v"))),
        loop(*PRODUCT, Assign(item(Name("x"), NUMBER + 1), SUM)),
        loop(*PRODUCT, Assign(item(Name("s"), NUMBER), item(Name("s"), NUMBER) + Name("w"))),
        loop(
            *PRODUCT,
            Let("f32", "e", "exp_f32(v)"),
            Assign(item(Name("y"), NUMBER), Apply("store_f16", (Name("e") + Name("w"),))),
        ),
    ],
    ids=["short", "a fold", "no rounding", "read behind", "collected", "a long function twice"],
)
def test_other_loops_stay_as_they_are(made):
    assert split_roundings(Names(), [made]) == (made,)


def test_numbers_that_are_stored_apart_are_rounded_where_they_are():
    (made,) = split_roundings(
        Names(),
        [
            loop(
                Assign(item(Name("y"), NUMBER * 3), Apply("store_f16", (Literal(1, "f32"),))),
                count=64,
            )
        ],
    )
    assert made.simd
    assert "store_each" not in text([made])
