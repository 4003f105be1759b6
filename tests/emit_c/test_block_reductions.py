"""Folds in blocks: of every operation and type, on any number of threads."""

import numpy as np
import pytest
from emitted import checked, emitted

import emit_c
import hlo
from codegen.statements import LocalVariable
from emit_c.executable.runtime import set_threads

FOLD = """HloModule m
f {{ a = {0}[] parameter(0)  b = {0}[] parameter(1)  ROOT r = {0}[] {1}(a, b) }}
ENTRY e {{
  x = {0}[{2}] parameter(0)
  initial = {0}[] parameter(1)
  ROOT r = {0}[] reduce(x, initial), dimensions={{{3}}}, to_apply=f
}}"""


def few(size, kind):
    """Numbers whose products are exact."""
    dtype = hlo.types.element_type.ELEMENT_TYPES[kind].dtype
    numbers = [1, 2, 4, 128] if kind[0] == "u" else [-2, -1, 1, 2]
    return np.random.default_rng(0).choice(numbers, size).astype(dtype)


@pytest.fixture
def small(monkeypatch):
    """Blocks of a few elements."""
    monkeypatch.setattr("emit_c.kernels.block_reductions.LEAST_WORK", 8)
    monkeypatch.setattr("emit_c.kernels.parallelize.LEAST_WORK", 8)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kind", ["f32", "f64", "s8", "u8", "s64", "u64"])
def test_every_operation(kind):
    operations = ["add", "multiply", "maximum", "minimum"]
    operations += [] if kind[0] == "f" else ["and", "or", "xor"]
    text = ["HloModule m"]
    for name in operations:
        body = (
            f"a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT r = {kind}[] {name}(a, b)"
        )
        text.append(f"f_{name} {{ {body} }}")
    text += ["ENTRY e {", f"  x = {kind}[7,11] parameter(0)", f"  i = {kind}[] parameter(1)"]
    text += [
        f"  r_{name} = {kind}[] reduce(x, i), dimensions={{0,1}}, to_apply=f_{name}"
        for name in operations
    ]
    listed = ", ".join(f"r_{name}" for name in operations)
    shapes = ", ".join([f"{kind}[]"] * len(operations))
    text.append(f"  ROOT t = ({shapes}) tuple({listed})\n}}")
    module = hlo.parse("\n".join(text))
    made = checked(module, arguments=(few((7, 11), kind), few((), kind)))
    declared = [s for s in made.nested if isinstance(s, LocalVariable) and "parts" in s.name]
    assert len(declared) == len(operations)


@pytest.mark.usefixtures("small")
def test_special_values():
    greatest = emit_c.compile(hlo.parse(FOLD.format("f32", "maximum", "37", "0")), optimize=False)
    least = np.float32(-np.inf)
    assert greatest(np.full(37, least), least) == least
    x = np.full(37, -1, np.float32)
    x[20] = np.nan
    assert np.isnan(greatest(x, least))


def test_a_large_sum_is_precise_and_the_same_on_any_number_of_threads():
    n = 1 << 22
    module = hlo.parse(FOLD.format("f32", "add", str(n), "0"))
    assert emitted(module).passes >= {"block-reductions", "parallelize"}
    executable = emit_c.compile(module)
    x = np.random.default_rng(0).random(n).astype(np.float32)
    sums = set()
    for threads in (1, 2):
        before = set_threads(threads)
        sums.update(float(executable(x, np.float32(0))) for _ in range(5))
        set_threads(before)
    assert len(sums) == 1
    assert sums.pop() == pytest.approx(x.sum(dtype=np.float64), rel=2e-6)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("operation", ["add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("kind", ["f32", "s16"])
def test_columns_side_by_side(kind, operation, optimize):
    text = FOLD.format(kind, operation, "13,3,5", "0,1").replace("[] reduce(", "[5] reduce(")
    arguments = few((13, 3, 5), kind), few((), kind)
    made = checked(text, optimize=optimize, arguments=arguments)
    assert "block-reductions" in made.passes
