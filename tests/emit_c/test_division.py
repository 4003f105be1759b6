"""Divisions in lanes are exact: of integers, as quotients of floats, and remainders of f32."""

import numpy as np
import pytest
from emitted import checked, emitted
from strategies.compiled import check, entry

import hlo
from hlo.types.element_type import ELEMENT_TYPES

EDGES = np.float32([0, 1e-45, 1.17549435e-38, 1, 1.5, 3, 3.4e38, 3.4028235e38, np.inf, np.nan])
EDGES = np.concatenate([EDGES, -EDGES])
TYPES = [t for t in ELEMENT_TYPES.values() if t.is_array and t.is_integer and t.bits >= 4]
MANY = """HloModule m
ENTRY e {
  x = T[N] parameter(0)
  y = T[N] parameter(1)
  q = T[N] divide(x, y)
  r = T[N] remainder(x, y)
  ROOT t = (T[N], T[N]) tuple(q, r)
}"""
BY_ONE = """HloModule m
ENTRY e {
  x = T[N] parameter(0)
  y = T[] parameter(1)
  b = T[N] broadcast(y), dimensions={}
  q = T[N] divide(x, b)
  r = T[N] remainder(x, b)
  ROOT t = (T[N], T[N]) tuple(q, r)
}"""


def numbers(generator, count):
    """Of all sizes, and such that some lie next to powers of two, as words of 64 bits."""
    words = generator.integers(0, 1 << 64, count, np.uint64, endpoint=False)
    sizes = generator.integers(0, 64, count).astype(np.uint64)
    near = generator.integers(-2, 3, count).astype(np.uint64)
    kinds = (words, words >> sizes, -(words >> sizes), (np.uint64(1) << sizes) + near, near)
    return np.choose(generator.integers(0, len(kinds), count), kinds)


def operands(element_type, count):
    """Numbers and divisors; many of the numbers are multiples of theirs, or next to one."""
    generator = np.random.default_rng(element_type.bits)
    x, y, k = (numbers(generator, count) for _ in range(3))
    beside = y * k + generator.integers(-1, 2, count).astype(np.uint64)
    x = np.where(generator.random(count) < 0.5, x, beside)
    width = np.dtype(f"u{max(element_type.bits // 8, 1)}")
    if element_type.bits < 8:
        return [
            (a % (1 << element_type.bits)).astype(width).astype(element_type.dtype) for a in (x, y)
        ]
    return [a.astype(width).view(element_type.dtype) for a in (x, y)]


def text(module, element_type, count):
    return module.replace("T[", f"{element_type.name}[").replace("[N]", f"[{count}]")


@pytest.mark.parametrize("element_type", TYPES, ids=lambda t: t.name)
def test_quotients_and_remainders_are_exact(element_type):
    x, y = operands(element_type, 20_000)
    made = checked(text(MANY, element_type, len(x)), optimize=True, arguments=(x, y))
    assert f"lane_quotient_{element_type.name}" in made.names


@pytest.mark.parametrize("element_type", TYPES, ids=lambda t: t.name)
def test_one_divisor_for_all(element_type):
    x, y = operands(element_type, 300)
    module = hlo.parse(text(BY_ONE, element_type, len(x)))
    for divisor in (*y[:20], *np.arange(3).astype(element_type.dtype)):
        one = np.asarray(divisor, element_type.dtype)
        check(module, optimize=True, arguments=(x, one))


def test_what_the_compiler_divides_better_is_left_to_it():
    by_seven = "c = T[] constant(7)\n  b = T[N] broadcast(c), dimensions={}"
    constant = BY_ONE.replace("b = T[N] broadcast(y), dimensions={}", by_seven)
    scalars = BY_ONE.replace("T[N]", "T[]").replace("broadcast(y), dimensions={}", "copy(y)")
    for module in (constant, scalars):
        assert not emitted(text(module, ELEMENT_TYPES["s32"], 64)).has("lane_")


@pytest.mark.parametrize("flag", ["-DFUSED", "-U__FMA__"], ids=["fused", "rounded twice"])
def test_remainders_of_f32_are_exact_for_quotients_of_every_size(flag, monkeypatch):
    """Bit for bit as `fmod`: any two floats, multiples of the divisor and their neighbours."""
    monkeypatch.setenv("CC", f"cc {flag}")
    generator = np.random.default_rng(32)
    x, y, z = generator.integers(0, 1 << 32, (3, 100_000), np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        multiples = np.trunc(np.abs(z)) * y
        near = np.nextafter(multiples, np.float32(0))
    pairs = [(x, y), (multiples, y), (near, y), tuple(np.meshgrid(EDGES, EDGES))]
    x, y = (np.concatenate([pair[i].ravel() for pair in pairs]) for i in range(2))
    text = "x = f32[N] parameter(0)\ny = f32[N] parameter(1)\nROOT r = f32[N] remainder(x, y)"
    check(entry(text.replace("N", str(len(x)))), optimize=True, arguments=(x, y))


@pytest.mark.parametrize("flag", ["-DFUSED", "-U__FMA__"], ids=["fused", "rounded twice"])
@pytest.mark.parametrize("divisor", ["0.1", "0.99999994", "1", "-2", "6.2831855", "3e38", "inf"])
def test_remainders_by_a_constant_are_exact(divisor, flag, monkeypatch):
    """Of a constant of at least 1, the quotient's highest bits are not looked for."""
    monkeypatch.setenv("CC", f"cc {flag}")
    x = np.random.default_rng(32).integers(0, 1 << 32, 100_000, np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        multiples = np.trunc(x) * np.float32(divisor)
        near = np.nextafter(multiples, np.float32(0))
    x = np.concatenate([x, multiples, near, EDGES])
    text = f"""x = f32[{len(x)}] parameter(0)
c = f32[] constant({divisor})
y = f32[{len(x)}] broadcast(c), dimensions={{}}
ROOT r = f32[{len(x)}] remainder(x, y)"""
    check(entry(text), optimize=True, arguments=(x,))
