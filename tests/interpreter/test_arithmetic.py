"""Elementwise opcodes: corner values measured on XLA CPU, and independent formulations."""

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from single import all_values, evaluate, values

from hlo.errors.error import HloError
from hlo.instruction import Instruction
from hlo.opcode import OPCODES
from hlo.types.element_type import ELEMENT_TYPES
from hlo.types.limits import integer_range
from hlo.types.shape import array
from interpreter.arithmetic import COMPARISONS, MEANINGS
from interpreter.engine.frame import quiet
from interpreter.numbers.bits import BITWISE
from interpreter.numbers.compare import BITS, compare
from interpreter.numbers.floats import FLOATS
from interpreter.table import evaluates, prepared

INF, NAN = math.inf, math.nan
S32_MIN = -(2**31)
WIDE_INTEGERS = [name for name, t in ELEMENT_TYPES.items() if t.is_integer and t.bits >= 8]
SMALL_FLOATS = [n for n, t in ELEMENT_TYPES.items() if t.is_floating and t.bits == 8] + ["f4e2m1fn"]

# fmt: off
# Opcode, type, operands, result: measured on XLA CPU (jaxlib 0.10.2).
MEASURED = [
    ("divide",    "s32", ([7, S32_MIN, -7], [0, -1, 2]),            [-1, S32_MIN, -3]),
    ("divide",    "u32", ([7, 0], [0, 0]),                          [2**32 - 1, 2**32 - 1]),
    ("divide",    "s4",  ([-8, 7, -8], [-1, 0, 3]),                 [-8, -1, -2]),
    ("remainder", "s32", ([7, S32_MIN, -7], [0, -1, 2]),            [7, 0, -1]),
    ("remainder", "f32", ([-7.0, 7.0, 1.0, -0.0], [2.0, -2.0, 0.0, 3.0]), [-1.0, 1.0, NAN, -0.0]),
    ("power",     "s32", ([2, -1, 0, 0, 3], [-2, -3, -1, 0, 40]),   [0, -1, 0, 1, 689956897]),
    ("power",     "f32", ([0.0, -8.0, NAN, 1.0, -1.0], [0.0, 1 / 3, 0.0, NAN, INF]),
                                                                    [1.0, NAN, 1.0, 1.0, 1.0]),
    ("abs",       "s32", ([S32_MIN, -3],),                          [S32_MIN, 3]),
    ("maximum",   "f32", ([1.0, NAN, -0.0, 0.0], [NAN, 1.0, 0.0, -0.0]), [NAN, NAN, 0.0, 0.0]),
    ("minimum",   "f32", ([1.0, NAN, -0.0, 0.0], [NAN, 1.0, 0.0, -0.0]), [NAN, NAN, -0.0, -0.0]),
    ("maximum",   "f32", ([-0.0], [-0.0]),                          [-0.0]),
    ("minimum",   "f32", ([0.0], [0.0]),                            [0.0]),
    ("sign",      "f32", ([-0.0, 0.0, NAN, -INF, 1e-45],),          [-0.0, 0.0, NAN, -1.0, 1.0]),
    ("sign",      "s8",  ([-128, 0, 5],),                           [-1, 0, 1]),
    ("clamp",     "f32", ([2.0, 0.0, NAN, 0.0, 0.0], [0.0, NAN, 0.0, 5.0, -5.0],
                          [1.0, 1.0, 1.0, NAN, 1.0]),               [1.0, NAN, NAN, NAN, 0.0]),
    ("clamp",     "s32", ([5], [0], [3]),                           [3]),
    ("round-nearest-afz",  "f32", ([2.5, -0.5, 0.49999997, -2.5],), [3.0, -1.0, 0.0, -3.0]),
    ("round-nearest-afz",  "f32", ([8388609.0, -0.0, INF],),        [8388609.0, -0.0, INF]),
    ("round-nearest-even", "f32", ([2.5, -0.5, 0.49999997],),       [2.0, -0.0, 0.0]),
    ("shift-left",             "s32", ([1, 1, 1], [31, 32, -1]),    [S32_MIN, 0, 0]),
    ("shift-right-logical",    "s32", ([-1, -1, -1], [31, 32, -1]), [1, 0, 0]),
    ("shift-right-arithmetic", "s32", ([-4, -4, 4], [1, 32, -1]),   [-2, -1, 0]),
    ("shift-right-arithmetic", "u8",  ([200, 127, 255], [1, 1, 9]), [228, 63, 255]),
    ("count-leading-zeros",    "s4",  ([-8, 7, 0, 1],),             [0, 1, 4, 3]),
    ("divide",    "c64", ([1 + 1j, complex(INF, 0), 1 + 0j], [0j, 1 + 0j, complex(INF, INF)]),
                                         [complex(INF, INF), complex(INF, NAN), complex(0, -0.0)]),
    ("abs",       "c64", ([3 + 4j, complex(-INF, 1)],),             [5.0, INF]),
]
# fmt: on


@pytest.mark.parametrize(("opcode", "element_type", "operands", "want"), MEASURED)
def test_measured_on_xla_cpu(opcode: str, element_type: str, operands: Any, want: Any) -> None:
    result = "f32" if opcode == "abs" and element_type == "c64" else element_type
    got = evaluate(opcode, result, *(values(element_type, o) for o in operands))
    assert compare(got, values(result, want)) is None


def test_pred_arithmetic_is_or_and_and() -> None:
    x, y = np.array([False, False, True, True]), np.array([False, True, False, True])
    for opcode in ("add", "maximum", "or"):
        assert evaluate(opcode, "pred", x, y).tolist() == [False, True, True, True]
    for opcode in ("multiply", "minimum", "and"):
        assert evaluate(opcode, "pred", x, y).tolist() == [False, False, False, True]
    assert evaluate("xor", "pred", x, y).tolist() == [False, True, True, False]
    assert evaluate("not", "pred", x).tolist() == [True, True, False, False]


def test_every_elementwise_opcode_is_defined() -> None:
    assert {n for n, op in OPCODES.items() if op.elementwise and n not in evaluates} == set()


@pytest.mark.parametrize("opcode", sorted({o for kind in MEANINGS.values() for o in kind}))
def test_opcodes_refuse_types_without_meaning(opcode: str) -> None:
    kinds = {"pred": "pred", "signed": "s4", "unsigned": "u32", "float": "bf16", "complex": "c64"}
    for kind, element_type in kinds.items():
        if opcode not in MEANINGS[kind]:
            with pytest.raises(HloError, match=f"{opcode} is not defined for {element_type}"):
                evaluate(opcode, element_type, values(element_type, [1]))


@pytest.mark.parametrize("opcode", ["maximum", "minimum", "clamp"])
def test_what_orders_complex_numbers_is_refused_with_the_reason(opcode: str) -> None:
    one = values("c64", [1])
    with pytest.raises(HloError, match=f"{opcode} is not defined for c64") as caught:
        evaluate(opcode, "c64", *[one] * OPCODES[opcode].arity)
    assert "complex numbers have no order" in caught.value.notes[0]


# ---------------------------------------------------------------- integers as Python integers


def truncated(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def divide(x: int, y: int, _bits: int) -> int:
    return truncated(x, y) if y else -1


def remainder(x: int, y: int, _bits: int) -> int:
    return x - y * truncated(x, y) if y else x


def power(x: int, y: int, bits: int) -> int:
    if y >= 0:
        return pow(x, y, 2**bits)
    return {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)


def shift_left(x: int, y: int, bits: int) -> int:
    return x << y % 2**bits if y % 2**bits < bits else 0


def shift_right_logical(x: int, y: int, bits: int) -> int:
    return x % 2**bits >> min(y % 2**bits, bits)


def shift_right_arithmetic(x: int, y: int, bits: int) -> int:
    signed = (x + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
    return signed >> min(y % 2**bits, bits)


# What each opcode gives before it is wrapped around.
BY_PYTHON: dict[str, Any] = {
    "add": lambda x, y, _: x + y,
    "subtract": lambda x, y, _: x - y,
    "multiply": lambda x, y, _: x * y,
    "divide": divide,
    "remainder": remainder,
    "power": power,
    "maximum": lambda x, y, _: max(x, y),
    "minimum": lambda x, y, _: min(x, y),
    "and": lambda x, y, _: x & y,
    "or": lambda x, y, _: x | y,
    "xor": lambda x, y, _: x ^ y,
    "mulhi": lambda x, y, bits: x * y >> bits,
    "shift-left": shift_left,
    "shift-right-logical": shift_right_logical,
    "shift-right-arithmetic": shift_right_arithmetic,
    "abs": lambda x, _: abs(x),
    "negate": lambda x, _: -x,
    "not": lambda x, _: ~x,
    "sign": lambda x, _: (x > 0) - (x < 0),
    "popcnt": lambda x, bits: (x % 2**bits).bit_count(),
    "count-leading-zeros": lambda x, bits: bits - (x % 2**bits).bit_length(),
}
UNARY = [opcode for opcode in BY_PYTHON if OPCODES[opcode].arity == 1]


def check_integers(opcode: str, element_type: str, *operands: list[int]) -> None:
    bits = ELEMENT_TYPES[element_type].bits
    arrays = [values(element_type, operand) for operand in operands]
    want = [BY_PYTHON[opcode](*numbers, bits) for numbers in zip(*operands, strict=True)]
    assert compare(evaluate(opcode, element_type, *arrays), values(element_type, want)) is None


@pytest.mark.parametrize("element_type", ["s1", "u1", "s2", "u2", "s4", "u4"])
@pytest.mark.parametrize("opcode", BY_PYTHON)
def test_all_values_of_narrow_integers(opcode: str, element_type: str) -> None:
    low, high = integer_range(ELEMENT_TYPES[element_type])
    numbers = list(range(low, high + 1))
    if opcode in UNARY:
        check_integers(opcode, element_type, numbers)
    else:
        pairs = [(x, y) for x in numbers for y in numbers]
        check_integers(opcode, element_type, [x for x, _ in pairs], [y for _, y in pairs])


EDGES = [s * 2**n + d for s in (1, -1) for n in (0, 1, 5, 7, 15, 31, 63) for d in (-1, 0, 1)]
NUMBERS = st.lists(st.sampled_from(EDGES) | st.integers(-(2**63), 2**64), min_size=8, max_size=8)


@pytest.mark.parametrize("opcode", BY_PYTHON)
@given(NUMBERS, NUMBERS)
def test_wide_integers_wrap_around(opcode: str, left: list[int], right: list[int]) -> None:
    for element_type in WIDE_INTEGERS:
        x, y = ([int(n) for n in values(element_type, numbers)] for numbers in (left, right))
        check_integers(opcode, element_type, *((x,) if opcode in UNARY else (x, y)))


# ------------------------------------------------------------- small floats as exact fractions


@pytest.mark.parametrize("element_type", SMALL_FLOATS)
@pytest.mark.parametrize("opcode", ["add", "subtract", "multiply", "divide"])
def test_small_floats_are_rounded_once(opcode: str, element_type: str) -> None:
    """All pairs of 60 values: the exact result, a fraction, rounded to the nearest value."""
    compute = getattr(operator, {"divide": "truediv", "multiply": "mul"}.get(opcode, opcode[:3]))
    every = all_values(element_type)
    finite = np.unique(every[np.isfinite(every.astype(np.float32))].astype(np.float64))
    some = finite[:: max(1, len(finite) // 60)]
    x, y = (a.ravel() for a in np.meshgrid(some, some))
    x, y = x[y != 0], y[y != 0]
    got = evaluate(opcode, element_type, values(element_type, x), values(element_type, y))
    got = got.astype(np.float64)
    for a, b, result in zip(x, y, got, strict=True):
        exact = compute(Fraction(a), Fraction(b))
        # Overflow is another test's subject: nearness means nothing beyond the largest value.
        if finite[0] <= exact <= finite[-1]:
            nearest = min(abs(Fraction(n) - exact) for n in neighbours(finite, float(exact)))
            assert abs(Fraction(result) - exact) == nearest, (a, b, result)


def neighbours(numbers: Any, x: float) -> Any:
    """The numbers around x in a sorted array, three to each side."""
    place = int(np.searchsorted(numbers, x))
    return numbers[max(0, place - 3) : place + 3]


@pytest.mark.parametrize("element_type", SMALL_FLOATS)
@pytest.mark.parametrize("opcode", ["abs", "negate", "sign", "floor", "ceil", "sqrt"])
def test_all_values_of_small_floats(opcode: str, element_type: str) -> None:
    x = all_values(element_type)
    wide = x.astype(np.float64)
    compute = {"negate": np.negative, "sign": lambda x: np.where(x == 0, x, np.sign(x))}
    with np.errstate(all="ignore"):
        want = compute.get(opcode, getattr(np, opcode, None))(wide)
        if element_type.startswith(("f4", "f6")):
            want = np.where(np.isnan(want), -0.0, want)
        want = want.astype(x.dtype)
    assert compare(evaluate(opcode, element_type, x), want) is None


def test_types_without_nan_make_it_minus_zero() -> None:
    for element_type in ("f4e2m1fn", "f6e2m3fn", "f6e3m2fn"):
        zero = values(element_type, [0.0])
        got = evaluate("divide", element_type, zero, zero).astype(np.float32)
        assert got[0] == 0
        assert np.signbit(got[0])


def test_bf16_is_rounded_after_every_operation() -> None:
    x = values("bf16", [256.0, 1.0])
    # 257 lies half-way between bf16 numbers: the even one is 256.
    assert evaluate("add", "bf16", x, values("bf16", [1.0, 2.0**-9])).tolist() == [256.0, 1.0]


# ------------------------------------------------------------------------------- functions

# fmt: off
BY_MATH = {
    "exponential": math.exp, "exponential-minus-one": math.expm1, "log": math.log, "tan": math.tan,
    "log-plus-one": math.log1p, "sine": math.sin, "cosine": math.cos, "tanh": math.tanh,
    "sinh": math.sinh, "cosh": math.cosh, "asin": math.asin, "acos": math.acos, "erf": math.erf,
    "asinh": math.asinh, "atanh": math.atanh, "sqrt": math.sqrt, "cbrt": math.cbrt,
    "rsqrt": lambda x: 1 / math.sqrt(x), "logistic": lambda x: 1 / (1 + math.exp(-x)),
}
# fmt: on


@pytest.mark.parametrize(
    ("element_type", "ulps"), [("f64", 8), ("f32", 4), ("f16", 1), ("bf16", 1)]
)
@pytest.mark.parametrize("opcode", BY_MATH)
def test_functions(opcode: str, element_type: str, ulps: int) -> None:
    x = values(element_type, np.geomspace(1e-4, 0.99, 500))
    got = evaluate(opcode, element_type, x).astype(np.float64)
    want = np.array([BY_MATH[opcode](v) for v in x.astype(np.float64)])
    spacing = np.abs(want) * float(ml_dtypes.finfo(x.dtype).eps)
    assert (np.abs(got - want) <= ulps * spacing).all()


@pytest.mark.parametrize(("element_type", "ulps"), [("f64", 4), ("f32", 1)])
def test_erf_everywhere(element_type: str, ulps: int) -> None:
    x = values(element_type, np.concatenate([np.linspace(-7, 7, 2001), [0.0, -0.0, INF, -INF]]))
    want = values(element_type, [math.erf(v) for v in x.astype(np.float64)])
    got = evaluate("erf", element_type, x)
    assert compare(got, want, BITS.within(ulps)) is None
    assert np.isnan(evaluate("erf", element_type, values(element_type, [NAN]))[0])


@given(st.lists(st.floats(width=32), min_size=2, max_size=2))
def test_maximum_and_minimum_order_zeros(pair: list[float]) -> None:
    x, y = values("f32", pair[:1]), values("f32", pair[1:])
    largest, smallest = evaluate("maximum", "f32", x, y)[0], evaluate("minimum", "f32", x, y)[0]
    if any(map(math.isnan, pair)):
        assert np.isnan(largest)
        assert np.isnan(smallest)
    else:
        ordered = sorted(pair, key=lambda v: (v, math.copysign(1, v)))
        assert compare(np.array([smallest, largest]), values("f32", ordered)) is None


# --------------------------------------------------------------------- comparing, selecting


@pytest.mark.parametrize("element_type", ["f8e5m2", "f16", "bf16", "f32", "f64"])
def test_total_order(element_type: str) -> None:
    order = [-INF, -1.0, -0.0, 0.0, 1.0, INF]
    x = values(element_type, order)
    # NaN with a sign is below everything, without one above.
    nan = np.copysign(np.full(2, NAN, np.float32), [-1, 1]).astype(x.dtype)
    line = np.concatenate([nan[:1], x, nan[1:]])
    for i in range(len(line)):
        here = np.broadcast_to(line[i], line.shape)
        below = evaluate("compare", "pred", line, here, direction="LT", type="TOTALORDER")
        same = evaluate("compare", "pred", line, here, direction="EQ", type="TOTALORDER")
        assert below.tolist() == [j < i for j in range(len(line))]
        assert same.tolist() == [j == i for j in range(len(line))]


def test_compare_without_order() -> None:
    x, y = values("f32", [NAN, -0.0, 1.0]), values("f32", [NAN, 0.0, 2.0])
    got = {
        d: evaluate("compare", "pred", x, y, direction=d).tolist()
        for d in ("EQ", "NE", "LT", "LE", "GT", "GE")
    }
    assert got == {
        "EQ": [False, True, False],
        "NE": [True, False, True],
        "LT": [False, False, True],
        "LE": [False, True, True],
        "GT": [False, False, False],
        "GE": [False, True, False],
    }
    z = np.array([1 + 2j, 1 + 3j], np.complex64)
    assert evaluate("compare", "pred", z, z[:1].repeat(2), direction="EQ").tolist() == [True, False]


@pytest.mark.parametrize("element_type", [n for n, t in ELEMENT_TYPES.items() if t.is_array])
def test_select_of_every_type(element_type: str) -> None:
    x, y = values(element_type, [1, 0, 1]), values(element_type, [0, 1, 1])
    got = evaluate("select", element_type, np.array([True, False, True]), x, y)
    assert compare(got, values(element_type, [1, 1, 1])) is None
    assert compare(evaluate("select", element_type, np.array(False), x, y), y) is None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "element_type", ["u4", "s8", "s64", "u64", "f8e4m3fn", "bf16", "f32", "c64"]
)
def test_nothing_warns(element_type: str) -> None:
    """Scalars, since NumPy warns about them where it is silent about arrays."""
    target = ELEMENT_TYPES[element_type]
    numbers = [0, *integer_range(target)] if target.is_integer else [0.0, 1e38, INF, NAN]
    bitwise = BITWISE if target.is_integer else {}
    for opcode in (MEANINGS[target.kind] | bitwise).keys() - {"complex"}:
        result = target.real.name if opcode in ("abs", "real", "imag") else element_type
        result = "pred" if opcode == "is-finite" else result
        for x in numbers:
            for y in numbers:
                operands = [values(element_type, n) for n in (x, y, x)][: OPCODES[opcode].arity]
                evaluate(opcode, result, *operands)
    for x in numbers:
        for other in ("pred", "s4", "u64", "f4e2m1fn", "f16", "f64", "c128"):
            evaluate("convert", other, values(element_type, x))
        evaluate("compare", "pred", *[values(element_type, x)] * 2, direction="EQ")


def test_operands_are_left_alone() -> None:
    x = values("f32", [1.0, -2.0])
    x.setflags(write=False)
    for opcode in ("abs", "real", "imag", "negate"):
        evaluate(opcode, "f32", x)


@pytest.mark.parametrize(
    ("opcode", "exact", "low", "high"),
    [
        ("exponential", np.exp, -20, 20), ("log", np.log, 1e-3, 50), ("tanh", np.tanh, -4, 4),
        ("sine", np.sin, -30, 30), ("cbrt", np.cbrt, -9, 9), ("acos", np.arccos, -1, 1),
    ],
)  # fmt: skip
def test_functions_of_f32_give_the_nearest_number(
    opcode: str, exact: Callable[..., Any], low: float, high: float
) -> None:
    x = np.linspace(low, high, 5000, dtype=np.float32)
    nearest = exact(x.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(FLOATS[opcode](x), nearest)


@pytest.mark.parametrize("name", ["pred", "s4", "s8", "u8", "s64", "u64", "bf16", "f32", "f64"])
def test_a_prepared_instruction_means_what_its_opcode_means(name: str) -> None:
    """Loops look up once what types ask for, and compute scalars by Python's operators."""
    kind = ELEMENT_TYPES[name].kind
    corners = [0, 1, 2, 7, 127, 128, 2**63 - 1, 2**63, -1]
    numbers = values(name, [*corners, -0.0, -1.5, INF, NAN] if kind == "float" else corners)
    for opcode in [n for n in MEANINGS[kind] if n not in ("complex", "real", "imag")]:
        result = "pred" if opcode == "is-finite" else name
        expect_prepared(opcode, result, name, *[numbers] * (OPCODES[opcode].arity or 0))
    for direction in COMPARISONS:
        for order in ["", "TOTALORDER"] if kind == "float" else [""]:
            attrs = {"direction": direction, "type": order}
            expect_prepared("compare", "pred", name, numbers, numbers, **attrs)


def expect_prepared(opcode: str, result: str, of: str, *numbers: Any, **attrs: Any) -> None:
    """Fail if an instruction on all tuples of numbers, or on one, is not what its opcode gives."""
    arrays = [n.ravel() for n in np.meshgrid(*numbers)]
    made = OPCODES[opcode].attrs(**attrs)
    scalars = [[np.asarray(n) for n in each] for each in zip(*arrays, strict=True)]
    for case in [arrays, *scalars[:200]]:
        operands = tuple(
            Instruction("p", "parameter", array(ELEMENT_TYPES[of], x.shape)) for x in case
        )
        shape = array(ELEMENT_TYPES[result], case[0].shape)
        instr = Instruction("r", opcode, shape, operands, made)
        with quiet():
            got = prepared(evaluates[opcode], instr)(instr, made, *case)
        assert isinstance(got, np.ndarray)
        assert compare(got, evaluate(opcode, result, *case, **attrs), BITS) is None, opcode
