"""Every elementwise opcode on every element type: C gives what the interpreter gives."""

import re

import ml_dtypes
import numpy as np
import pytest
from emitted import emitted

import emit_c
import hlo
import interpreter
import interpreter.arithmetic
import interpreter.numbers.complexes
from codegen.opcodes.scalar import MEANINGS
from emit_c.code.prelude import prelude
from hlo.opcode import OPCODES
from hlo.types.element_type import ARRAY_TYPES, ELEMENT_TYPES
from interpreter.numbers.bits import BITWISE
from interpreter.numbers.compare import BITS, Promise, compare

# Functions of C's library or polynomials of our own, beside NumPy's; in units in the last place.
CLOSE = {
    **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan2", "atanh", "cbrt", "cosh"), 4),
    **dict.fromkeys(("cosine", "erf", "exponential", "exponential-minus-one", "log"), 4),
    **dict.fromkeys(("log-plus-one", "logistic", "power", "sine", "sinh", "tan", "tanh"), 4),
}
COMPARISONS = ("EQ", "NE", "GE", "GT", "LE", "LT")
# One type of each way to store and round; the others are alike, and slow to compile.
FAST = {
    *("pred", "s4", "s8", "s32", "u8", "u16", "u64", "f16", "bf16", "f32", "f64", "c64"),
    *("f8e5m2", "f8e4m3fn", "f8e8m0fnu", "f4e2m1fn"),
}
TYPES = [
    pytest.param(t, id=t.name, marks=() if t.name in FAST else pytest.mark.slow)
    for t in ARRAY_TYPES
]
RESULTS = {"is-finite": "pred"}


def points(element_type):
    """Numbers where something happens, and random ones, of a type."""
    generator = np.random.default_rng(1)
    if element_type.kind == "pred":
        return np.array([False, True])
    if element_type.bits <= 8 and not element_type.is_complex:
        width = ml_dtypes.finfo(element_type.dtype).bits if element_type.is_floating else 0
        codes = np.arange(2 ** (width or element_type.bits), dtype=np.uint8)
        return codes.view(element_type.dtype)
    if element_type.is_integer:
        info = np.iinfo(element_type.dtype)
        random = generator.integers(info.min, info.max, 20, element_type.dtype, endpoint=True)
        few = [info.min, info.max, 0, 1, 2, 3, 7, 15, 31, 32, 63, 64]
        few += [-1, -2, -5] if info.min else []
        return np.concatenate([np.array(few, element_type.dtype), random])
    real = ELEMENT_TYPES[element_type.real.name].dtype
    info = ml_dtypes.finfo(real)
    few = [0.0, 1.0, 0.5, 1.5, 2.5, 0.625, 0.92, 3.0, 10.0, 88.0, 1e3, 1e-3, 0.4999]
    few += [float(info.max), float(info.smallest_normal), float(info.smallest_subnormal), np.inf]
    random = generator.standard_normal(12) * 10.0 ** generator.integers(-3, 4, 12)
    with np.errstate(all="ignore"):
        some = np.array([*few, *(-x for x in few), np.nan, *random]).astype(real)
    if not element_type.is_complex:
        return some
    parts = np.concatenate([random[:8], [1.0, -1.0, 0.5]]).astype(real)
    return (parts[:, None] + 1j * parts[None, :]).astype(element_type.dtype).reshape(-1)


def operands(element_type, arity):
    """Arrays such that all pairs, or random triples, of the points meet."""
    some = points(element_type)
    if arity == 1:
        return [some]
    if arity == 2 and len(some) <= 256:
        return [np.repeat(some, len(some)), np.tile(some, len(some))]
    generator = np.random.default_rng(2)
    return [generator.choice(some, 4096) for _ in range(arity)]


def module(element_type, parts):
    """A module that applies opcodes to parameters.

    Each part is a list of opcodes of one arity (with attributes and result type), and arguments.
    """
    name = element_type.name
    lines, made, number = [], [], 0
    for opcodes, arguments in parts:
        size, first = len(arguments[0]), number
        for _ in arguments:
            lines.append(f"  p{number} = {name}[{size}] parameter({number})")
            number += 1
        given = ", ".join(f"p{first + i}" for i in range(len(arguments)))
        for opcode, attributes, result in opcodes:
            lines.append(f"  r{len(made)} = {result}[{size}] {opcode}({given}){attributes}")
            made.append(f"{result}[{size}]")
    results = ", ".join(f"r{i}" for i in range(len(made)))
    lines.append(f"  ROOT all = ({', '.join(made)}) tuple({results})")
    return hlo.parse("HloModule m\nENTRY e {\n" + "\n".join(lines) + "\n}\n")


def rows(element_type, arity):
    """The opcodes of an arity that mean something for a type: opcode, attributes, result type."""
    name = element_type.name
    found = []
    for opcode in MEANINGS[element_type.kind]:
        if OPCODES[opcode].arity != arity or (opcode == "complex" and name not in ("f32", "f64")):
            continue
        if opcode in ("abs", "sign") and element_type.kind == "unsigned":
            continue
        result = RESULTS.get(opcode, name)
        if element_type.is_complex and opcode in ("abs", "real", "imag"):
            result = element_type.real.name
        if opcode == "complex":
            result = {"f32": "c64", "f64": "c128"}[name]
        if opcode in ("real", "imag") and name not in ("f32", "f64", "c64", "c128"):
            continue
        found.append((opcode, "", result))
    if arity == 2:
        directions = ("EQ", "NE") if element_type.is_complex else COMPARISONS
        found += [("compare", f", direction={d}", "pred") for d in directions]
        if element_type.is_floating:
            found += [("compare", f", direction={d}, type=TOTALORDER", "pred") for d in COMPARISONS]
    return found


@pytest.mark.parametrize("element_type", TYPES)
def test_elementwise_opcodes_agree_with_the_interpreter(element_type):
    by_arity = {arity: rows(element_type, arity) for arity in (1, 2, 3)}
    parts = [(found, operands(element_type, n)) for n, found in by_arity.items() if found]
    made = module(element_type, parts)
    arguments = [argument for _, given in parts for argument in given]
    got = emit_c.compile(made, optimize=False)(*arguments)
    with np.errstate(all="ignore"):
        want = interpreter.evaluate(made, *arguments)
    wrong = []
    rows_in_order = [row for opcodes, _ in parts for row in opcodes]
    for (opcode, attributes, _), x, y in zip(rows_in_order, got, want, strict=True):
        promise = Promise(ulps=CLOSE[opcode]) if opcode in CLOSE else BITS
        if element_type.is_complex:
            promise = Promise(zero_sign=True, finite=True, ulps=64, of_largest=True)
        # Near the poles of the logistic function, 1 + exp(-x) keeps few digits.
        known = abs(y) < 64 if opcode == "logistic" and element_type.is_complex else ...
        if difference := compare(x[known], y[known], promise):
            wrong.append(f"{opcode}{attributes}: {difference}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["c64", "c128"])
def test_complex_arithmetic_is_the_interpreters_to_the_bit(name):
    element_type = ELEMENT_TYPES[name]
    info = np.finfo(element_type.dtype)
    ends = [0.0, 1.0, 3.0, 0.1, np.inf, info.max, info.tiny, info.smallest_subnormal, info.eps]
    some = np.array([*ends, *(-x for x in ends), np.nan], info.dtype)
    x = interpreter.numbers.complexes.from_parts(
        np.repeat(some, len(some)), np.tile(some, len(some))
    )
    spread = np.exp(np.random.default_rng(7).uniform(-80, 80, (3, 4, 500))).astype(info.dtype)
    few = [interpreter.numbers.complexes.from_parts(a - b, c - d) for a, b, c, d in spread]
    of_one = [("abs", "", element_type.real.name)]
    of_one += [(opcode, "", name) for opcode in ("sqrt", "rsqrt", "sign", "negate")]
    of_two = [(opcode, "", name) for opcode in ("add", "subtract", "multiply", "divide")]
    x = np.concatenate([x, few[0]])
    pairs = [np.repeat(x[: len(some) ** 2], len(some) ** 2), np.tile(x[: len(some) ** 2], 361)]
    pairs = [np.concatenate(both) for both in zip(pairs, few[1:], strict=True)]
    made = module(element_type, [(of_one, [x]), (of_two, pairs)])
    got = emit_c.compile(made, optimize=False)(x, *pairs)
    with np.errstate(all="ignore"):
        want = interpreter.evaluate(made, x, *pairs)
    for (opcode, _, _), mine, theirs in zip((*of_one, *of_two), got, want, strict=True):
        assert compare(mine, theirs, BITS) is None, opcode


@pytest.mark.parametrize("source", TYPES)
def test_conversions_agree_with_the_interpreter(source):
    some = points(source)
    if source.is_floating and source.bits >= 16:
        generator = np.random.default_rng(3)
        wide = generator.standard_normal(4000) * 2.0 ** generator.integers(-30, 30, 4000)
        with np.errstate(all="ignore"):
            some = np.concatenate([some, wide.astype(source.dtype)])
            # Near what is half-way between two floats of 8 bits, and below all of them.
            ties = np.ldexp(np.arange(1, 64, 2.0)[:, None, None], np.arange(-30, 10)[:, None])
            near = (ties * (1 + np.array([-1, 0, 1]) * 2.0**-40)).ravel()
            some = np.concatenate([some, near.astype(source.dtype), -near.astype(source.dtype)])
            tiny = np.arange(1, 256) * 2.0**-134
            some = np.concatenate([some, tiny.astype(source.dtype)])
    targets = [t for t in ARRAY_TYPES if not source.is_complex or t.is_complex]
    made = module(source, [([("convert", "", target.name) for target in targets], [some])])
    got = emit_c.compile(made, optimize=False)(some)
    with np.errstate(all="ignore"):
        want = interpreter.evaluate(made, some)
    wrong = [
        f"to {target}: {difference}"
        for target, x, y in zip(targets, got, want, strict=True)
        if (difference := compare(x, y))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["f64", "f32", "bf16", "f16", "f8e5m2", "f8e4m3fn"])
def test_reduce_precision_agrees_with_the_interpreter(name):
    some = points(ELEMENT_TYPES[name])
    formats = [(5, 10), (8, 7), (4, 3), (2, 1), (8, 23), (11, 52), (5, 2)]
    opcodes = [
        ("reduce-precision", f", exponent_bits={e}, mantissa_bits={m}", name) for e, m in formats
    ]
    made = module(ELEMENT_TYPES[name], [(opcodes, [some])])
    got, want = emit_c.compile(made, optimize=False)(some), interpreter.evaluate(made, some)
    wrong = [
        f"{e}, {m}: {difference}"
        for (e, m), x, y in zip(formats, got, want, strict=True)
        if (difference := compare(x, y))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("opcode", "low", "high", "ulps"),
    [
        ("exponential", -110.0, 95.0, 2),
        ("log", 1e-40, 3e38, 2),
        ("tanh", -12.0, 12.0, 3),
        ("erf", -5.0, 5.0, 3),
        ("logistic", -85.0, 85.0, 4),
        ("exponential-minus-one", -20.0, 88.0, 2),
        ("log-plus-one", -0.999, 100.0, 2),
        ("sine", -1e4, 3e38, 1),
        ("cosine", -1e4, 3e38, 1),
        ("tan", -1e4, 3e38, 1),
    ],
)
def test_our_own_polynomials_are_near_the_truth(opcode, low, high, ulps):
    generator = np.random.default_rng(4)
    spread = np.exp(generator.uniform(np.log(1e-6), np.log(high), 50_000))
    some = np.concatenate([generator.uniform(low, high, 50_000), spread]).astype(np.float32)
    if opcode == "log":
        some = np.exp(generator.uniform(-100, 88, 100_000)).astype(np.float32)
    made = module(ELEMENT_TYPES["f32"], [([(opcode, "", "f32")], [some])])
    exact = module(ELEMENT_TYPES["f64"], [([(opcode, "", "f64")], [some])])
    (got,) = emit_c.compile(made, optimize=False)(some)
    (truth,) = interpreter.evaluate(exact, some.astype(np.float64))
    with np.errstate(all="ignore"):
        assert compare(got, truth.astype(np.float32), Promise(ulps=ulps)) is None


@pytest.mark.parametrize("opcode", ["atan2", "power"])
def test_our_own_functions_of_two_numbers_are_near_the_truth(opcode):
    generator = np.random.default_rng(5)
    spread = np.exp(generator.uniform(-9, 9, 50_000))
    x = np.concatenate([generator.standard_normal(50_000), spread])
    y = np.concatenate([generator.standard_normal(50_000), generator.uniform(-9, 9, 50_000)])
    x, y = (np.abs(x) if opcode == "power" else x).astype(np.float32), y.astype(np.float32)
    made = module(ELEMENT_TYPES["f32"], [([(opcode, "", "f32")], [x, y])])
    (got,) = emit_c.compile(made, optimize=False)(x, y)
    exact = {"atan2": np.arctan2, "power": np.power}[opcode]
    truth = exact(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    assert compare(got, truth, Promise(ulps=2)) is None


@pytest.mark.parametrize(
    ("opcode", "function", "low", "high"),
    [
        ("exponential", np.exp, -740.0, 709.0),
        ("exponential-minus-one", np.expm1, -40.0, 709.0),
        ("log", np.log, 1e-320, 1e308),
        ("log-plus-one", np.log1p, -0.999, 1e308),
        ("tanh", np.tanh, -25.0, 25.0),
    ],
)
def test_our_own_polynomials_of_doubles_are_near_the_truth(opcode, function, low, high):
    generator = np.random.default_rng(6)
    spread = np.exp(generator.uniform(np.log(1e-20), np.log(high), 50_000))
    some = np.concatenate([generator.uniform(max(low, -800.0), min(high, 800.0), 50_000), spread])
    made = module(ELEMENT_TYPES["f64"], [([(opcode, "", "f64")], [some])])
    (got,) = emit_c.compile(made, optimize=False)(some)
    truth = function(some.astype(np.longdouble)).astype(np.float64)
    assert compare(got, truth, Promise(ulps=3)) is None


def test_the_digits_of_turns_in_a_radian():
    """Checked with integers: a turn is 2 pi, by Machin's formula, times 2^300."""

    def arctangent(n):
        terms = ((-1) ** k * ((1 << 340) // n ** (2 * k + 1) // (2 * k + 1)) for k in range(260))
        return sum(terms)

    turn = 8 * (4 * arctangent(5) - arctangent(239)) >> 40
    words = dict.fromkeys(re.findall(r"0x([0-9a-f]{16})u", prelude(["turns_f32"])))
    assert int("".join(words), 16) == (1 << 556) // turn


def test_the_table_means_what_the_interpreters_table_means():
    for kind, meanings in MEANINGS.items():
        bitwise = set(BITWISE) if kind in ("signed", "unsigned") else set()
        assert set(meanings) == set(interpreter.arithmetic.MEANINGS[kind]) | bitwise


def test_every_number_is_rounded_to_f16_as_the_interpreter_does():
    """Around each f16 and halfway between it and the next one; beyond all of them; NaN."""
    codes = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    words = codes.view(np.uint32)
    around = [
        words + np.uint32(k % (1 << 32)) for k in (-4097, -4096, -4095, -1, 0, 1, 4095, 4096, 4097)
    ]
    x = np.concatenate(around).view(np.float32)
    text = f"""HloModule m
ENTRY e {{ x = f32[{x.size}] parameter(0)
  h = f16[{x.size}] convert(x)
  n = f16[{x.size}] negate(h)
  ROOT w = f32[{x.size}] convert(n) }}"""
    module = hlo.parse(text)
    with np.errstate(all="ignore"):
        wanted = interpreter.evaluate(module, x)
    executable = emit_c.compile(module)
    assert "split-roundings" in emitted(module).passes
    assert compare(executable(x), wanted, BITS) is None


@pytest.mark.parametrize("opcode", ["maximum", "minimum"])
@pytest.mark.parametrize(("name", "bits"), [("f32", "u32"), ("f64", "u64")])
def test_an_extreme_is_one_of_two_numbers_to_the_bit(opcode, name, bits):
    """The sign of a zero is known, and NaN is the one that was given, the first of two."""
    few = np.array([0, 1, 2.5, np.inf, np.nan, 1e-40], ELEMENT_TYPES[name].dtype)
    other = (few[4:5].view(ELEMENT_TYPES[bits].dtype) | 12345).view(few.dtype)
    numbers = np.concatenate([few, -few, other, -other])
    x, y = map(np.ravel, np.meshgrid(numbers, numbers))
    n = x.size
    text = f"""HloModule m
    ENTRY e {{
      x = {name}[{n}] parameter(0)
      y = {name}[{n}] parameter(1)
      z = {name}[{n}] {opcode}(x, y)
      ROOT b = {bits}[{n}] bitcast-convert(z)
    }}"""
    module = hlo.parse(text)
    wanted = interpreter.evaluate(module, x, y)
    assert np.array_equal(emit_c.compile(module)(x, y), wanted)
    assert np.isin(wanted, np.concatenate([x, y]).view(wanted.dtype)).all()
