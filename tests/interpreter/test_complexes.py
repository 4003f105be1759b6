"""Complex numbers: definitions, limits where infinities meet, and branch cuts."""

import cmath
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from single import evaluate, values

from interpreter.numbers.compare import BITS, compare

INF, NAN = math.inf, math.nan
parts = st.floats(-1e3, 1e3, allow_nan=False)
numbers = st.builds(complex, parts, parts)


def binary(opcode: str, x: complex, y: complex) -> complex:
    return complex(evaluate(opcode, "c128", values("c128", [x]), values("c128", [y]))[0])


def unary(opcode: str, x: complex) -> complex:
    return complex(evaluate(opcode, "c128", values("c128", [x]))[0])


def close(x: complex, y: complex, scale: float = 1) -> bool:
    return abs(x - y) <= 1e-12 * max(abs(x), abs(y), scale)


@given(numbers, numbers)
def test_products_and_quotients(x: complex, y: complex) -> None:
    product = binary("multiply", x, y)
    assert product == complex(x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real)
    y += 2000
    assert close(binary("divide", x, y), x / y)


# fmt: off
QUOTIENTS = [
    (1 + 2j, 0j, complex(INF, INF)),
    (1 + 2j, complex(-0.0, 0.0), complex(-INF, -INF)),
    (complex(NAN, 1), 0j, complex(NAN, INF)),
    (0j, 0j, complex(NAN, NAN)),
    (complex(INF, INF), 1 + 0j, complex(INF, INF)),
    (complex(INF, NAN), 2 + 1j, complex(INF, -INF)),
    (1 + 1j, complex(INF, INF), complex(0.0, 0.0)),
    (-1 - 1j, complex(INF, INF), complex(-0.0, 0.0)),
    (complex(INF, 0), complex(INF, 0), complex(NAN, NAN)),
    (1e307 + 1e307j, 1e307 + 1e307j, 1 + 0j),
]
# fmt: on


@pytest.mark.parametrize(("x", "y", "want"), QUOTIENTS)
def test_quotients_of_zeros_and_infinities(x: complex, y: complex, want: complex) -> None:
    assert compare(values("c128", [binary("divide", x, y)]), values("c128", [want])) is None


BY_CMATH: dict[str, Any] = {
    "exponential": cmath.exp,
    "log": cmath.log,
    "sqrt": cmath.sqrt,
    "sine": cmath.sin,
    "cosine": cmath.cos,
    "tan": cmath.tan,
    "tanh": cmath.tanh,
    "sinh": cmath.sinh,
    "cosh": cmath.cosh,
    "acos": cmath.acos,
    "asin": cmath.asin,
    "acosh": cmath.acosh,
    "asinh": cmath.asinh,
    "atanh": cmath.atanh,
    "exponential-minus-one": lambda x: cmath.exp(x) - 1,
    "log-plus-one": lambda x: cmath.log(1 + x),
    "logistic": lambda x: 1 / (1 + cmath.exp(-x)),
    "rsqrt": lambda x: 1 / cmath.sqrt(x),
    "sign": lambda x: x / abs(x),
}


@pytest.mark.parametrize("opcode", BY_CMATH)
@given(real=st.floats(0.1, 3), imag=st.floats(0.1, 3), turn=st.sampled_from([1, 1j, -1, -1j]))
def test_functions(opcode: str, real: float, imag: float, turn: complex) -> None:
    x = complex(real, imag) * turn
    assert close(unary(opcode, x), BY_CMATH[opcode](x))


@pytest.mark.parametrize("size", [1e-300, 1e-100, 1e-20, 1e-9])
def test_small_numbers_stay_exact(size: float) -> None:
    x = size * (3 + 4j)
    for opcode in ("exponential-minus-one", "log-plus-one"):
        assert close(unary(opcode, x), x, scale=0) or abs(unary(opcode, x) - x) < 2 * abs(x) ** 2


@pytest.mark.parametrize(("opcode", "x"), [("sqrt", -4.0), ("log", -4.0), ("rsqrt", -4.0)])
def test_the_sign_of_zero_picks_the_side_of_a_branch_cut(opcode: str, x: float) -> None:
    above, below = unary(opcode, complex(x, 0.0)), unary(opcode, complex(x, -0.0))
    assert above.imag == -below.imag != 0


# fmt: off
ROOTS = [
    (0j, 0j), (complex(-0.0, -0.0), complex(0, -0.0)), (-4 + 0j, 2j),
    (complex(-4, -0.0), complex(0, -2)),
    (complex(NAN, INF), complex(INF, INF)), (complex(1, -INF), complex(INF, -INF)),
    (complex(-INF, 1), complex(0, INF)), (complex(-INF, -1), complex(0, -INF)),
    (complex(INF, -1), complex(INF, -0.0)), (complex(INF, NAN), complex(INF, NAN)),
    (complex(NAN, 1), complex(NAN, NAN)), (complex(1, NAN), complex(NAN, NAN)),
    (3e-320 + 4e-320j, cmath.sqrt(3e-320 + 4e-320j)),
    (-1.5e308 + 0j, complex(0, math.sqrt(1.5e308))),
]
# fmt: on


@pytest.mark.parametrize(("x", "want"), ROOTS)
def test_roots_at_the_ends(x: complex, want: complex) -> None:
    got, want_ = values("c128", [unary("sqrt", x)]), values("c128", [want])
    assert compare(got, want_) is None


@given(numbers, st.integers(-300, 300))
def test_roots_and_magnitudes_of_all_sizes(x: complex, size: int) -> None:
    x *= 10.0**size
    for opcode, want in (("sqrt", cmath.sqrt(x)), ("abs", complex(abs(x)))):
        got = unary(opcode, x)
        assert compare(values("c128", [got]), values("c128", [want]), BITS.within(4)) is None


@given(
    st.builds(cmath.rect, st.floats(0.1, 10), st.floats(-3, 3)),
    st.builds(complex, st.floats(-3, 3), st.floats(-3, 3)),
)
def test_powers(x: complex, y: complex) -> None:
    want = cmath.exp(y * cmath.log(x))
    assert abs(binary("power", x, y) - want) <= 1e-10 * abs(want)


# fmt: off
POWERS = [
    (0j, 0j, 1), (NAN, 0j, 1), (1, complex(NAN, NAN), 1), (0j, 2, 0),
    (INF, 2, INF), (INF, -2, 0), (0j, -1, complex(NAN, NAN)),
]
# fmt: on


@pytest.mark.parametrize(("x", "y", "want"), POWERS)
def test_powers_at_the_ends(x: complex, y: complex, want: complex) -> None:
    got = binary("power", x, y)
    assert compare(values("c128", [got]), values("c128", [want])) is None


@given(st.floats(0.1, 10), st.floats(-3, 3))
def test_atan2_of_real_points(size: float, angle: float) -> None:
    point = cmath.rect(size, angle)
    assert close(binary("atan2", complex(point.imag), complex(point.real)), angle)


def test_parts_and_magnitudes() -> None:
    z = values("c64", [3 - 4j, complex(-INF, NAN), 0j])
    assert compare(evaluate("real", "f32", z), values("f32", [3.0, -INF, 0.0])) is None
    assert compare(evaluate("imag", "f32", z), values("f32", [-4.0, NAN, 0.0])) is None
    assert compare(evaluate("abs", "f32", z), values("f32", [5.0, INF, 0.0])) is None
    x, y = values("f32", [INF, -0.0]), values("f32", [NAN, 1.0])
    z = evaluate("complex", "c64", x, y)
    assert compare(evaluate("real", "f32", z), x) is None
    assert compare(evaluate("imag", "f32", z), y) is None
