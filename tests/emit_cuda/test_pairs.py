"""Two neighbours of 16 bits in one instruction: the bits are those of one at a time."""

import random
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from cuda_batches import ARCHITECTURES, CHECKED_AND_NOT, Batch, names_in_cuda
from hypothesis import given, settings
from hypothesis import strategies as st

import emit_cuda
import hlo
import interpreter
from codegen.callees import FUNCTIONS
from codegen.expressions import Apply, Name, binary, item
from codegen.printer import text
from codegen.statements import Assign, For, Let, LocalVariable
from emit_cuda import nvrtc
from emit_cuda.code.names import CudaNames
from emit_cuda.loops import vectors
from emit_cuda.loops.pairs import in_pairs
from hlo.types.element_type import BF16, ELEMENT_TYPES
from hlo_tools.generate.values import nasty, tame
from interpreter.numbers.compare import BITS

TYPES = ("bf16", "f16")
# Operations of pairs, of single halves, and of both; none but those whose bits are promised.
OPERATIONS = {
    "add": "add({x}, {y})",
    "subtract": "subtract({x}, {y})",
    "multiply": "multiply({x}, {y})",
    "maximum": "maximum({x}, {y})",
    "minimum": "minimum({x}, {y})",
    "negate": "negate({x})",
    "abs": "abs({x})",
    "divide": "divide({x}, {y})",
    "floor": "floor({x})",
    "sqrt": "sqrt({x})",
    "clamp": "clamp({x}, {y}, b)",
    "select": "select(p, {x}, {y})",
}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(vectors, "FILLS", 16)


def module_of(kind, steps):
    """A chain of operations, each on two values before it."""
    values, lines = ["x", "y", "b", "c"], []
    for number, (name, i, j) in enumerate(steps):
        operation = OPERATIONS[name].format(x=values[-1 - i % 4], y=values[j % len(values)])
        lines.append(f"  v{number} = {kind}[64] {operation}")
        values.append(f"v{number}")
    return hlo.parse(f"""HloModule pairs
ENTRY main {{
  x = {kind}[64] parameter(0)
  y = {kind}[64] parameter(1)
  s = {kind}[] parameter(2)
  p = pred[64] parameter(3)
  w = f32[64] parameter(4)
  n = {kind}[] constant(0.3)
  b = {kind}[64] broadcast(s), dimensions={{}}
  c = {kind}[64] broadcast(n), dimensions={{}}
{chr(10).join(lines)}
  f = f32[64] convert({values[-1]})
  g = f32[64] multiply(f, w)
  h = {kind}[64] convert(g)
  ROOT r = ({kind}[64], {kind}[64], f32[64]) tuple({values[-1]}, h, g)
}}""")


def batch_of(seeds, values, length=6):
    batch = Batch()
    for seed in seeds:
        drawn = random.Random(seed)
        steps = [
            (drawn.choice(sorted(OPERATIONS)), drawn.randrange(99), drawn.randrange(99))
            for _ in range(length)
        ]
        add(batch, module_of(TYPES[seed % 2], steps), values, seed)
    return batch


def add(batch, module, values, seed):
    """The optimizer may change bits; kernels may not."""
    arguments = [values(p.shape, random.Random(seed)) for p in module.entry.parameters]
    batch.add(emit_cuda.optimized(module), arguments)


@CHECKED_AND_NOT
@pytest.mark.parametrize("values", [nasty, tame])
def test_they_give_the_interpreters_bits(values, checked):
    found = batch_of(range(12), values).differences(BITS, checked=checked)
    assert not found, f"{len(found)} differ, among them {found[0]}"


@pytest.mark.slow
@settings(max_examples=max(2, settings.default.max_examples // 10))
@given(st.lists(st.integers(0, 10**6), min_size=8, max_size=8), st.booleans())
def test_random_chains_give_the_interpreters_bits(seeds, special):
    found = batch_of(seeds, nasty if special else tame, length=12).differences(BITS)
    assert not found, f"{len(found)} differ, among them {found[0]}"


def neighbours(x):
    """The numbers next to some, of their own type; NaN beyond the largest."""
    bits = x.view(np.int16).astype(np.int32)
    order = np.where(bits < 0, -32768 - bits, bits)
    for step in (-1, 1):
        moved = order + step
        yield np.where(moved < 0, -32768 - moved, moved).astype(np.int16).view(x.dtype)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("opcode", ["add", "subtract", "multiply"])
def test_what_is_rounded_twice_is_the_nearest_number(kind, opcode):
    """An instruction rounds once; the interpreter rounds to f32 first."""
    generator = np.random.default_rng(0)
    dtype = ELEMENT_TYPES[kind].dtype
    spread = 2.0 ** generator.integers(-70, 60, (2, 400)) if kind == "bf16" else 1.0
    near = generator.standard_normal((2, 400)) * spread
    tiny = generator.integers(0, 300, (2, 400)).astype(np.uint16).view(dtype)
    x, y = np.concatenate([near.astype(dtype), tiny, near.astype(dtype)], 1)
    y = np.concatenate([y[:800], tiny[1]])
    text = f"x = {kind}[1200] parameter(0)  y = {kind}[1200] parameter(1)"
    text = f"{text}  ROOT r = {kind}[1200] {opcode}(x, y)"
    got = interpreter.evaluate(hlo.parse(f"HloModule m\nENTRY e {{ {text} }}"), x, y)
    around = list(neighbours(got))
    operation = {
        "add": Fraction.__add__,
        "subtract": Fraction.__sub__,
        "multiply": Fraction.__mul__,
    }[opcode]
    for a, b, value, *others in zip(x, y, got, *around, strict=True):
        exact = operation(Fraction(float(a)), Fraction(float(b)))
        if not np.isfinite(value):
            assert abs(exact) > Fraction(float(ml_dtypes.finfo(dtype).max))
            continue
        off = abs(exact - Fraction(float(value)))
        for other in others:
            away = abs(exact - Fraction(float(other))) if np.isfinite(other) else off + 1
            assert off < away or (off == away and value.view(np.int16) % 2 == 0), (a, b)


CHAIN = [("multiply", 0, 0), ("multiply", 0, 0), ("add", 0, 1), ("maximum", 0, 2), ("sqrt", 0, 0)]


@pytest.mark.parametrize("kind", TYPES)
def test_a_chain_is_computed_in_pairs(kind):
    names = names_in_cuda(module_of(kind, CHAIN))
    assert names >= {f"{name}_pairs_{kind}" for name in ("multiply", "add", "maximum")}
    assert not any(name.startswith("narrow_") for name in names)


@pytest.mark.skipif(bool(nvrtc.missing()), reason=nvrtc.missing())
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_gpu_that_has_instructions_of_pairs_gets_them(architecture):
    batch = batch_of(range(12), tame)
    for kind in TYPES:
        add(batch, module_of(kind, CHAIN), tame, 0)
    source = batch.kernels.source("")
    assert nvrtc.compile(source, architecture).usage
    ptx = nvrtc.ptx(source, architecture)
    for kind in TYPES:
        assert (f"mul.rn.{kind}x2" in ptx) == (architecture != "sm_80")
        assert f"cvt.rn.{kind}x2.f32" in ptx
        assert f"max.NaN.{kind}x2" in ptx


def loop_of(*body, **changes):
    """A loop over the eight elements of two local arrays."""
    loop = For("v", 8, body, unroll=True)
    arrays = (LocalVariable("bf16", name, size=8) for name in ("x", "y"))
    return (*arrays, LocalVariable("f32", "sum"), For("k", 1, (loop,), **changes))


V, SUM = Name("v"), Name("sum")
LOADED = Let("f32", "a", Apply(FUNCTIONS["load", BF16], (item(Name("x"), V),)))
STORED = Assign(
    item(Name("y"), V), Apply(FUNCTIONS["store", BF16], (binary("*", Name("a"), Name("a")),))
)
ADDED = Assign(SUM, binary("+", SUM, Name("a")))


def test_halves_are_added_up_in_their_order():
    made = text(in_pairs(loop_of(LOADED, STORED, ADDED), CudaNames()))
    first, second = made.index("sum = sum + a_low"), made.index("sum = sum + a_high")
    assert first < second
    assert "y[v / 2] = multiply_pairs_bf16(a, a)" in made


def test_a_value_that_an_iteration_hands_to_the_next_one_keeps_loops_as_they_are():
    before = Let("f32", "sum_before", SUM)
    other = Assign(item(Name("out"), V), Name("sum_before"))
    given = loop_of(LOADED, STORED, before, ADDED, other)
    assert in_pairs(given, CudaNames()) == given


def test_an_array_that_is_read_between_pairs_keeps_its_elements():
    shifted = Let("f32", "b", Apply(FUNCTIONS["load", BF16], (item(Name("x"), V + 1),)))
    made = text(in_pairs(loop_of(LOADED, shifted, STORED, ADDED), CudaNames()))
    assert "bf16 x[8]" in made
    assert "u32 y[4]" in made
