"""Functions of angles and of complex numbers, which run in lanes: how exact they are, and where."""

import math

import numpy as np
import pytest

import emit_c
import hlo
import interpreter
from hlo.types.element_type import ELEMENT_TYPES

COMPLEX = ("exponential", "log", "log-plus-one", "exponential-minus-one", "logistic", "sine")
COMPLEX += ("cosine", "tan", "sinh", "cosh", "tanh")
NEAR_AXES = np.arange(1, 200) * (math.pi / 2)
ENDS = [0.0, 5e-324, 1e-300, 2.0**-45, 2.0**-43, 2.0**-28, 2.0**-26, 2.0**53, 1e300, np.inf]


def function(kind, opcode, arrays):
    """What C gives for some arrays, and the module."""
    size = arrays[0].size
    parameters = "".join(f"  p{i} = {kind}[{size}] parameter({i})\n" for i in range(len(arrays)))
    given = ", ".join(f"p{i}" for i in range(len(arrays)))
    module = hlo.parse(
        f"HloModule m\nENTRY e {{\n{parameters}  ROOT r = {kind}[{size}] {opcode}({given})\n}}\n"
    )
    return emit_c.compile(module)(*arrays), module


def of_every_size(seed=0):
    """Random bits as f64; some are NaN or infinite."""
    bits = np.random.default_rng(seed).integers(0, 2**64, 2000, dtype=np.uint64)
    return bits.view(np.float64)


def distances(got, want):
    """Units in the last place between what is finite; NaN and signs must be the same."""
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.signbit(got)[want == want], np.signbit(want)[want == want])
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    return abs(got - want)[finite] / np.spacing(abs(want[finite]))


@pytest.mark.parametrize(("opcode", "name"), [("sine", "sin"), ("cosine", "cos"), ("tan", "tan")])
def test_angles_of_every_size(opcode, name):
    some = np.array([*NEAR_AXES, *ENDS])
    small = np.random.default_rng(1).standard_normal(2000) * 10
    x = np.concatenate([some, -some, [np.nan], small, of_every_size()])
    got, _ = function("f64", opcode, [x])
    # By the C library, which is exact to a digit; NumPy's own loops are not.
    want = [getattr(math, name)(each) if np.isfinite(each) else np.nan for each in x]
    assert distances(got, np.array(want)).max() <= 3


def test_float_nearest_to_an_axis():
    """No f64 is nearer to a multiple of pi / 2 (J.-M. Muller, Elementary Functions)."""
    got, _ = function("f64", "cosine", [np.array([6381956970095103 * 2.0**797])])
    np.testing.assert_allclose(got, -4.68716592425462761112e-19, rtol=4e-16)


def test_points_in_every_direction():
    some = np.array([0.0, 5e-324, 1e-310, 0.4142135623, 0.5, 1.0, 1.7e308, np.inf])
    some = np.concatenate([some, -some, [np.nan]])
    y, x = (each.ravel() for each in np.meshgrid(some, some))
    y, x = np.concatenate([y, of_every_size(2)]), np.concatenate([x, of_every_size(3)])
    got, _ = function("f64", "atan2", [y, x])
    with np.errstate(invalid="ignore"):
        assert distances(got, np.arctan2(y, x)).max() <= 3


@pytest.mark.parametrize("kind", ["c64", "c128"])
@pytest.mark.parametrize("opcode", COMPLEX)
def test_a_part_is_known_though_the_other_is_not(kind, opcode):
    """At infinities, NaN and ends of the range, as C99 wants it, but for zeros beside NaN."""
    real = ELEMENT_TYPES[kind].real.dtype
    info = np.finfo(real)
    some = np.array([0, 0.5, 3, 88, 100, 710, info.tiny, info.max, np.inf], real)
    some = np.concatenate([some, -some, np.array([np.nan], real)])
    x = np.empty((some.size, some.size), ELEMENT_TYPES[kind].dtype)
    x.real, x.imag = some[:, None], some
    got, module = function(kind, opcode, [x.reshape(-1)])
    with np.errstate(all="ignore"):
        want = interpreter.evaluate(module, x.reshape(-1))
    pairs = zip((got.real, got.imag), (want.real, want.imag), (want.imag, want.real), strict=True)
    for mine, theirs, other in pairs:
        np.testing.assert_allclose(mine, theirs, rtol=200 * info.eps, atol=10 * info.tiny)
        same = np.signbit(mine) == np.signbit(theirs)
        assert (same | np.isnan(theirs) | ((theirs == 0) & np.isnan(other))).all()


@pytest.mark.parametrize("kind", ["c64", "c128"])
@pytest.mark.parametrize("opcode", [*COMPLEX, "power"])
def test_complex_functions_stay_exact(kind, opcode):
    """Beside values of twice as many digits, where these are known: for c64."""
    dtype = ELEMENT_TYPES[kind].dtype
    generator = np.random.default_rng(4)
    parts = generator.standard_normal((4, 500)) * 10.0 ** generator.integers(-2, 2, (4, 500))
    count = 2 if opcode == "power" else 1
    arrays = [(parts[i] + 1j * parts[i + 2]).astype(dtype) for i in range(count)]
    got, module = function(kind, opcode, arrays)
    wide = hlo.parse(str(module).replace("c64[", "c128["))
    with np.errstate(all="ignore"):
        want = interpreter.evaluate(wide, *(x.astype(np.complex128) for x in arrays))
    finite = np.isfinite(want) & np.isfinite(got)
    assert finite.sum() > 200
    # Arithmetic of the parts of a power, or of a quotient, is done in the type itself.
    digits = 400 if opcode in ("power", "logistic") else 8
    error = abs(got - want)[finite] / (abs(want[finite]) + np.finfo(dtype).tiny)
    assert error.max() <= digits * np.finfo(dtype).eps


def test_numbers_near_the_unit_circle_have_logarithms():
    """|z|^2 - 1 is what matters there, whatever is left of it."""
    z = np.exp(1j * np.arange(1, 200)) * (1 + 2.0 ** -np.arange(1, 200))
    got, module = function("c128", "log", [z])
    want = interpreter.evaluate(module, z)
    np.testing.assert_allclose(got.real, want.real, rtol=1e-12)


@pytest.mark.parametrize("opcode", ["sine", "exponential", "log", "tanh", "power"])
@pytest.mark.parametrize("kind", ["f64", "c64", "c128"])
def test_nothing_calls_the_library(kind, opcode):
    """A call of a function of C's library would keep the loop out of lanes."""
    given = "p, p" if opcode == "power" else "p"
    module = hlo.parse(f"HloModule m\nENTRY e {{\n  p = {kind}[100] parameter(0)\n"
                       f"  ROOT r = {kind}[100] {opcode}({given})\n}}\n")  # fmt: skip
    source = emit_c.compile(module).source
    names = ("sin", "cos", "exp", "log", "tanh", "pow")
    assert not any(f"__builtin_{prefix}{name}(" in source for prefix in ("", "c") for name in names)
