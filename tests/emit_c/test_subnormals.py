"""Subnormal numbers are zeros in compiled code, as in XLA's for CPUs, or are kept when asked."""

import ctypes
import platform
import threading

import ml_dtypes
import numpy as np
import pytest
from strategies.compiled import entry

import emit_c
import hlo
import interpreter
from emit_c.executable.runtime import runtime, set_threads, usual_floats
from hlo.errors.error import HloError
from interpreter.numbers.compare import BITS, Promise, compare

pytestmark = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64", "aarch64", "arm64"),
    reason="it is known for x86 and ARM how to flush subnormal numbers",
)

HALF = entry("""
x = f32[4] parameter(0)
h = f32[] constant(0.5)
b = f32[4] broadcast(h), dimensions={}
ROOT y = f32[4] multiply(x, b)
""")
LEAST = np.float32(2.0**-126)
UNARY = (
    *("abs", "cbrt", "ceil", "cosine", "erf", "exponential", "exponential-minus-one", "floor"),
    *("log", "log-plus-one", "logistic", "negate", "round-nearest-even", "rsqrt", "sign", "sine"),
    *("sqrt", "tan", "tanh"),
)
BINARY = ("add", "atan2", "divide", "maximum", "minimum", "multiply", "power", "remainder")


def compiled(text, **options):
    return emit_c.compile(hlo.parse(text), remember=False, **options)


def test_results_and_operands_are_zeros():
    """2^-127 is half of the least normal f32; a product with it is one with zero."""
    given = np.array([LEAST, LEAST / 2, -LEAST / 2, 1], np.float32)
    flushed = compiled(HALF, subnormals="flush")(given)
    np.testing.assert_array_equal(flushed, np.array([0, 0, -0.0, 0.5], np.float32))
    assert compare(compiled(HALF, subnormals="keep")(given), given / 2) is None


@pytest.mark.parametrize("divisor", [2.0**127, -(2.0**127), 2e38, float(np.finfo("f4").max)])
def test_large_divisors_are_not_multiplied_by(divisor):
    """1 / 2e38 is subnormal and would be flushed, and 1e38 / 2e38 would be 0, as it is in XLA."""
    text = HALF.replace("0.5", f"{divisor:.9g}").replace("multiply", "divide")
    given = np.array([1e38, -3e38, 2.0**127, 5], np.float32)
    got = compiled(text, subnormals="flush")(given)
    assert compare(got, given / np.float32(divisor), Promise(flushed=True)) is None
    assert got[:3].all()


def test_flushing_is_usual(monkeypatch):
    """XLA's code for CPUs flushes; the environment may say otherwise, and an option over it."""
    given = np.full(4, LEAST)
    monkeypatch.delenv("PYHLO_SUBNORMALS")
    assert not compiled(HALF)(given).any()
    monkeypatch.setenv("PYHLO_SUBNORMALS", "keep")
    assert compiled(HALF)(given).all()
    assert not compiled(HALF, subnormals="flush")(given).any()
    monkeypatch.setenv("PYHLO_SUBNORMALS", "keeps")
    with pytest.raises(HloError, match="PYHLO_SUBNORMALS='keeps'"):
        compiled(HALF)


def test_what_moves_a_number_keeps_it():
    """As in XLA: signs change, elements move, and are selected, without arithmetic."""
    text = entry("""
x = f32[4] parameter(0)
n = f32[4] negate(x)
a = f32[4] abs(n)
r = f32[4] reverse(a), dimensions={0}
ROOT y = f32[2,2] reshape(r)
""")
    given = np.array([1, 2, 3, 4], np.float32) * np.float32(1e-42)
    assert (compiled(text, subnormals="flush")(given) == given[::-1].reshape(2, 2)).all()


def test_a_call_leaves_the_state_of_its_caller():
    """NumPy computes after a call as it did before, also where the caller has flushing set."""
    half = np.float32(0.5)
    for kind in ("flush", "keep"):
        compiled(HALF, subnormals=kind)(np.full(4, LEAST))
        assert np.full(9, LEAST)[0] * half
    threads, flushes = runtime().threads, compiled(HALF, subnormals="flush")
    keeps = compiled(HALF, subnormals="keep")
    flushing = 0x9FC0 if platform.machine().lower() in ("x86_64", "amd64") else 1 << 24
    usual = threads.hlo_usual_floats()
    try:
        threads.hlo_set_floats(flushing)
        # NumPy flushes now, too, so bits are looked at.
        assert keeps(np.full(4, LEAST)).view(np.uint32).all()
        assert threads.hlo_usual_floats() == flushing
        assert not flushes(np.full(4, LEAST)).view(np.uint32).any()
        with usual_floats():
            assert np.full(9, LEAST)[0] * half
    finally:
        threads.hlo_set_floats(usual)


def test_threads_compute_as_the_one_that_they_help():
    """Each part of a loop is flushed, or none, whichever thread takes it, call after call."""
    text = HALF.replace("[4]", "[400000]")
    before = set_threads(2)
    try:
        flush, keep = (compiled(text, subnormals=kind) for kind in ("flush", "keep"))
        given = np.full(400000, LEAST)
        for _ in range(20):
            assert not flush(given).any()
            assert keep(given).all()
    finally:
        set_threads(before)


def test_devices_and_callers_from_c_flush_too():
    """Devices are threads of their own; C calls the same function as Python."""
    module = hlo.parse(HALF.replace("HloModule m", "HloModule m, replica_count=2"))
    made = emit_c.compile(module, subnormals="flush")
    for value in made(per_device=[[np.full(4, LEAST)]] * 2):
        assert not value.any()
    called = compiled(HALF, subnormals="flush")
    given, result = np.full(4, LEAST), np.ones(4, np.float32)
    native = called.native
    assert native is not None
    function = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)(native.run)
    arena = np.zeros(native.arena_bytes + 64, np.uint8)
    lists = [(ctypes.c_void_p * 1)(array.ctypes.data) for array in (given, result)]

    def call():
        function(*lists, arena.ctypes.data + -arena.ctypes.data % 64)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert not result.any()


@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "f16"])
def test_only_subnormal_numbers_are_flushed(kind):
    """No function has a normal result by way of a subnormal number: between normal numbers and
    normal numbers, both ways give the same bits. f16 is computed in f32, and loses nothing.
    """
    x, y = normal_numbers(kind, 1), normal_numbers(kind, 2)
    shape = f"{kind}[{len(x)}]"
    calls = [(op, "x") for op in UNARY] + [(op, "x, y") for op in BINARY]
    lines = [f"r{k} = {shape} {op}({given})" for k, (op, given) in enumerate(calls)]
    names = ", ".join(f"r{k}" for k in range(len(lines)))
    text = entry("\n".join([
        f"x = {shape} parameter(0)", f"y = {shape} parameter(1)", *lines,
        f"ROOT t = ({', '.join([shape] * len(lines))}) tuple({names})",
    ]))  # fmt: skip
    keep, flush = (compiled(text, optimize=False, subnormals=k)(x, y) for k in ("keep", "flush"))
    for (op, _), got, want in zip(calls, flush, keep, strict=True):
        assert compare(got, want, Promise(flushed=True)) is None, op
        assert kind != "f16" or compare(got, want, BITS) is None, op


def normal_numbers(kind, seed):
    """Normal numbers of all sizes, of which many are near the least and the largest."""
    generator = np.random.default_rng(seed)
    dtype = np.dtype({"f32": "f4", "f64": "f8", "f16": "f2"}.get(kind, ml_dtypes.bfloat16))
    info = ml_dtypes.finfo(dtype)
    low, high = info.minexp, info.maxexp
    ranges = [(low, high), (-3, 3), (low, low + 4), (high - 4, high), (0, 8)]
    exponents = np.concatenate([generator.uniform(*each, 100) for each in ranges])
    generator.shuffle(exponents)
    numbers = np.exp2(np.minimum(exponents, high - 0.01)) * generator.choice([-1, 1], 500)
    return numbers.astype(dtype)


def test_the_interpreter_keeps_them():
    assert interpreter.evaluate(hlo.parse(HALF), np.full(4, LEAST)).all()
