"""Cholesky factors and triangular systems in tiles: the bits of loops, no mistake, on any GPU."""

import random

import numpy as np
import pytest
from cuda_batches import ARCHITECTURES, Batch

import emit_cuda
import hlo
from emit_cuda import nvrtc
from emit_cuda.grids import matrices
from hlo.types.element_type import ELEMENT_TYPES
from interpreter.numbers.compare import ROUNDING
from optimizer import prepare

TEXT = """HloModule m
ENTRY e {{
{}
}}"""


def positive(kind, *dims):
    """Matrices that have a Cholesky factor."""
    random = np.random.default_rng(dims[-1])
    x = random.standard_normal(dims)
    if kind.startswith("c"):
        x = x + 1j * random.standard_normal(dims)
    x = x @ np.conj(np.swapaxes(x, -1, -2)) + dims[-1] * np.eye(dims[-1])
    return x.astype(ELEMENT_TYPES[kind].dtype)


def cholesky(kind, dims, lower):
    dims = ",".join(map(str, dims))
    body = f"  x = {kind}[{dims}] parameter(0)\n"
    body += f"  ROOT r = {kind}[{dims}] cholesky(x), lower={str(lower).lower()}"
    return hlo.parse(TEXT.format(body))


def solve(kind, n, m, number):
    """One of the 24 ways of a triangular system."""
    left, lower, unit, way = number % 2, number // 2 % 2, number // 4 % 2, number // 8
    x = f"{kind}[2,{n},{m}]" if left else f"{kind}[2,{m},{n}]"
    body = f"  a = {kind}[2,{n},{n}] parameter(0)\n  b = {x} parameter(1)\n"
    words = [str(bool(each)).lower() for each in (left, lower, unit)]
    body += f"  ROOT r = {x} triangular-solve(a, b), left_side={words[0]}, lower={words[1]}, "
    body += f"unit_diagonal={words[2]}, transpose_a={('NO_TRANSPOSE', 'TRANSPOSE', 'ADJOINT')[way]}"
    return hlo.parse(TEXT.format(body))


def factors():
    batch = Batch()
    for kind, dims, lower in (("f32", (2, 70, 70), True), ("c64", (35, 35), False)):
        batch.add(cholesky(kind, dims, lower), [positive(kind, *dims)])
    broken = positive("f32", 2, 70, 70)
    broken[1, 40, 40] = -1
    batch.add(cholesky("f32", (2, 70, 70), False), [broken])
    assert np.isnan(batch.cases[-1][2][1]).all()
    assert np.isfinite(batch.cases[-1][2][0]).all()
    batch.add(cholesky("f64", (3, 20, 20), True), [positive("f64", 3, 20, 20)])
    return batch


def systems(numbers):
    batch, rng = Batch(), np.random.default_rng(0)
    for number in numbers:
        kind = ("f32", "c64", "c128", "f64")[number % 4]
        module = solve(kind, 45, 37, number)
        a = positive(kind, 2, 45, 45)
        shape = module.entry.root.shape
        b = rng.standard_normal(shape.dims).astype(shape.element_type.dtype)
        batch.add(module, [a / 45, b])
    return batch


def test_factors_are_the_interpreters():
    batch = factors()
    kinds = [step.kind for step in batch.cases[0][3].steps]
    assert kinds == ["loop", *["cholesky of a panel", "trailing update"] * 2,
                     "cholesky of a panel", "triangle"]  # fmt: skip
    assert not batch.differences(checked=True)


def test_all_panels_run_the_same_kernels():
    program = emit_cuda.emit(prepare(cholesky("f32", (320, 320), True)))
    assert len(program.steps) == 1 + 10 + 9 + 1, [s.kind for s in program.steps]
    assert len(program.kernels) == 4


@pytest.mark.parametrize(
    ("numbers", "checked"),
    [
        (random.Random(0).sample(range(24), 2), True),
        pytest.param(range(24), True, marks=pytest.mark.slow),
    ],
    ids=["few", "all"],
)
def test_systems_are_the_interpreters(numbers, checked):
    batch = systems(numbers)
    assert {step.kind for *_, program in batch.cases for step in program.steps} == {
        "triangular solve"
    }
    assert not batch.differences(ROUNDING, checked=checked)


def test_bits_are_those_of_one_thread(monkeypatch):
    """Sums go through matrices in the same order, and no expander comes before."""
    module, x = cholesky("f32", (2, 50, 50), True), positive("f32", 2, 50, 50)
    tiled = emit_cuda.compile(module, "host")
    monkeypatch.setattr(matrices, "LEAST", 1 << 30)
    alone = emit_cuda.compile(module, "host")
    kinds = [[step.kind for step in each.program.steps] for each in (tiled, alone)]
    assert (kinds[0][-1], kinds[1]) == ("triangle", ["parallel loops"])
    np.testing.assert_array_equal(alone(x), tiled(x))


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_they_compile_for_a_gpu(architecture):
    for batch in (factors(), systems(range(4))):
        usage = nvrtc.compile(batch.kernels.source(""), architecture).usage
        assert max(each.shared_bytes for each in usage.values()) <= 48 << 10
