"""Rows of few columns are collapsed into one loop in lanes; C gives the same values."""

import numpy as np
import pytest
from emitted import checked, emitted
from strategies.compiled import check, whole

import emit_c
import hlo
import interpreter
from hlo.types.element_type import ELEMENT_TYPES


def softmax(kind: str, dims: list[int], axis: int) -> hlo.Module:
    """Softmax along an axis."""
    shape = ",".join(map(str, dims))
    kept = [d for d in range(len(dims)) if d != axis]
    left, others = ",".join(str(dims[d]) for d in kept), ",".join(map(str, kept))
    return hlo.parse(f"""HloModule softmax
max {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT r = {kind}[] maximum(a, b) }}
add {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT r = {kind}[] add(a, b) }}
ENTRY e {{
  x = {kind}[{shape}] parameter(0)
  least = {kind}[] constant(-inf)
  most = {kind}[{left}] reduce(x, least), dimensions={{{axis}}}, to_apply=max
  mosts = {kind}[{shape}] broadcast(most), dimensions={{{others}}}
  less = {kind}[{shape}] subtract(x, mosts)
  power = {kind}[{shape}] exponential(less)
  zero = {kind}[] constant(0)
  sum = {kind}[{left}] reduce(power, zero), dimensions={{{axis}}}, to_apply=add
  sums = {kind}[{shape}] broadcast(sum), dimensions={{{others}}}
  ROOT r = {kind}[{shape}] divide(power, sums)
}}""")


@pytest.mark.parametrize("kind", ["f32", "f64", "bf16"])
@pytest.mark.parametrize(
    ("dims", "axis"),
    [([611, 7], 0), ([391, 10], 0), ([391, 33], 0), ([300, 2, 7], 1), ([2, 300, 5], 1)],
)
def test_softmax_of_few_columns(kind, dims, axis):
    module = softmax(kind, dims, axis)
    assert "collapse-loops" in emitted(module).passes
    dtype = ELEMENT_TYPES[kind].dtype
    x = np.random.default_rng(0).normal(size=dims).astype(dtype)
    got, wanted = emit_c.compile(module)(x), interpreter.evaluate(module, x)
    epsilon = {"f32": 2e-6, "f64": 4e-15, "bf16": 2e-2}[kind]
    np.testing.assert_allclose(np.asarray(got, float), np.asarray(wanted, float), rtol=epsilon)


@pytest.mark.parametrize("kind", ["s8", "u8", "s16", "s64", "f64"])
@pytest.mark.parametrize("operation", ["add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("width", [3, 7])
def test_folds_of_few_columns(kind, operation, width):
    module = hlo.parse(f"""HloModule fold
f {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT r = {kind}[] {operation}(a, b) }}
ENTRY e {{
  x = {kind}[999,{width}] parameter(0)
  i = {kind}[] parameter(1)
  ROOT r = {kind}[{width}] reduce(x, i), dimensions={{0}}, to_apply=f
}}""")
    assert "collapse-loops" in emitted(module).passes
    # Products stay exact.
    numbers = [1, 2] if operation == "multiply" and kind == "f64" else [1, 2, 3, 100]
    x = np.random.default_rng(0).choice(numbers, (999, width)).astype(ELEMENT_TYPES[kind].dtype)
    initial = np.array(3, x.dtype)
    check(module, optimize=True, arguments=(x, initial))


@pytest.mark.parametrize("kind", ["u8", "s16", "bf16", "f16", "f32"])
@pytest.mark.parametrize("width", [3, 7, 15, 17])
def test_rows_by_numbers_of_rows(kind, width):
    module = f"""HloModule rows
ENTRY e {{
  x = {kind}[700,{width}] parameter(0)
  n = {kind}[700] parameter(1)
  twice = {kind}[700] add(n, n)
  each = {kind}[700,{width}] broadcast(twice), dimensions={{0}}
  ROOT r = {kind}[700,{width}] multiply(x, each)
}}"""
    check(module, optimize=True, arguments=whole(0, 9))


@pytest.mark.parametrize("element_type", ["bf16", "f16", "s8"])
@pytest.mark.parametrize(("rows", "count", "width"), [(300, 7, 7), (263, 2, 3), (129, 10, 10)])
def test_outer_products_of_rows(element_type, rows, count, width):
    dtype = ELEMENT_TYPES[element_type].dtype
    generator = np.random.default_rng(7)
    x, y = (
        (generator.standard_normal((rows, n)) * 9).astype(dtype) for n in (count, width)
    )  # fmt: skip
    if element_type != "s8":
        x[0, :2], y[1, :3] = [np.nan, np.inf], [-0.0, 1e-7, 0]
    module = hlo.parse(f"""HloModule m
ENTRY e {{
  x = {element_type}[{rows},{count}] parameter(0)
  y = {element_type}[{rows},{width}] parameter(1)
  a = {element_type}[{rows},{count},{width}] broadcast(x), dimensions={{0,1}}
  b = {element_type}[{rows},{count},{width}] broadcast(y), dimensions={{0,2}}
  ROOT p = {element_type}[{rows},{count},{width}] multiply(a, b)
}}""")
    made = checked(module, optimize=True, arguments=(x, y))
    assert made.has("tile") == (element_type != "s8")
