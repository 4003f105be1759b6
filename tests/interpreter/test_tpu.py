"""Bitcasts between tiles and custom calls, as in modules that XLA compiled for a TPU."""

import numpy as np
import pytest
from custom_calls import TYPES, call, matrix

import emit_c
import emit_cuda
import hlo
import interpreter
from hlo.errors.error import HloError
from hlo.types.tiling import filled_elements
from interpreter.numbers.compare import ROUNDING, compare

FACTORED = ["s", "d"]


def bitcast(source: str, target: str) -> hlo.Module:
    """A module of one bitcast."""
    return hlo.parse(f"ENTRY e {{\n  x = {source} parameter(0)\n  ROOT y = {target} bitcast(x)\n}}")


def rising(module: hlo.Module) -> np.ndarray:
    """The numbers from 0 as the argument of a module."""
    shape = module.entry.parameters[0].shape
    return np.arange(shape.size).reshape(shape.dims).astype(shape.element_type.dtype)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        # Whole tiles below each other keep the row-major order, those beside each other do not.
        ("f32[4,3]{1,0:T(2,3)}", "f32[2,2,3]{2,1,0:T(2,3)}", range(12)),
        ("f32[2,4]{1,0:T(2,2)}", "f32[8]{0:T(8)}", [0, 1, 4, 5, 2, 3, 6, 7]),
        ("f32[2,4]{1,0:T(2,2)}", "f32[2,2,2]{2,0,1:T(2,2)}", range(8)),
        # Padding: a part of the operand, or more than it.
        ("f32[40]{0:T(128)}", "f32[5]{0:T(128)}", range(5)),
        ("f32[2]{0:T(8)S(1)}", "f32[4]{0:T(8)}", [0, 1, 0, 0]),
        ("s32[9]{0:T(128)}", "s32[3,1]{0,1:T(1,128)}", range(3)),
        ("s4[6,5]{0,1:T(8,128)E(4)}", "s4[]{:T(1024)E(4)}", [0]),
        # Two tiles: pairs of rows lie between each other.
        ("bf16[4,4]{1,0:T(4,2)(2,1)}", "bf16[16]{0:T(16)}",
         [0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15]),
        # A combined dimension.
        ("f32[2,3,2]{2,1,0:T(*,2)}", "f32[6,2]{1,0:T(6,2)}", range(12)),
    ],
)  # fmt: skip
def test_a_bitcast_reads_the_memory_of_tiles(source: str, target: str, expected: object) -> None:
    module = bitcast(source, target)
    hlo.verify(module)
    x = rising(module)
    result = interpreter.evaluate(module, x)
    assert result.astype(float).ravel().tolist() == list(expected)  # type: ignore[call-overload]
    np.testing.assert_array_equal(emit_c.compile(module)(x), result)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("f32[5,300]{1,0:T(8,128)}", 8 * 384),
        ("f32[]{:T(128)}", 128),
        ("f32[0,3]{1,0:T(8,128)}", 0),
        ("f32[5]{0}", 5),
    ],
)
def test_tiles_take_places(shape: str, expected: int) -> None:
    assert filled_elements(bitcast(shape, shape).entry.root.shape) == expected


def test_other_sizes_stay_errors() -> None:
    with pytest.raises(HloError, match="HLO036"):
        hlo.verify(bitcast("f32[40]{0:T(8)}", "f32[5]{0:T(8)}"))


def test_padding_is_counted_before_it_is_taken() -> None:
    module = bitcast("f32[1]{0:T(1000000000000000)}", "f32[2]{0:T(1000000000000000)}")
    with pytest.raises(HloError, match="HLO113"):
        interpreter.evaluate(module, np.ones(1, np.float32))


@pytest.mark.parametrize(
    ("element_type", "part", "values"),
    [
        ("u64", "u32", np.array([0, 1, 2**32, 2**64 - 1], np.uint64)),
        ("s64", "u32", np.array([0, -1, -(2**63), 2**40 + 3])),
        ("s64", "s32", np.array([0, -1, -(2**63), 2**40 + 3])),
        ("f64", "f32", np.array([0.0, 1 + 2.0**-30, np.inf, -np.inf, 1e300])),
        ("c64", "f32", np.array([1 + 2j, -0.0, 3j], np.complex64)),
    ],
)
def test_parts_of_64_bits(element_type: str, part: str, values: np.ndarray) -> None:
    n = len(values)
    text = f"""ENTRY e {{
      x = {element_type}[{n}] parameter(0)
      low = {part}[{n}] custom-call(x), custom_call_target="X64SplitLow"
      high = {part}[{n}] custom-call(x), custom_call_target="X64SplitHigh"
      y = {element_type}[{n}] custom-call(low, high), custom_call_target="X64Combine"
      ROOT r = ({part}[{n}], {part}[{n}], {element_type}[{n}]) tuple(low, high, y)
    }}"""
    module = hlo.parse(text)
    low, high, whole = interpreter.evaluate(module, values)
    for got, wanted in zip(emit_c.compile(module)(values), (low, high, whole), strict=True):
        np.testing.assert_array_equal(got, wanted)
    # Numbers beyond f32 overflow.
    expected = np.where(values == 1e300, np.inf, values) if element_type == "f64" else values
    np.testing.assert_array_equal(whole, expected)
    if element_type == "c64":
        np.testing.assert_array_equal(low, values.real)


def test_parts_have_half_the_bits() -> None:
    with pytest.raises(HloError, match="HLO122"):
        call("X64SplitLow", "f64[2]", np.ones(2))


@pytest.mark.parametrize("letter", FACTORED)
def test_factors_of_blocks(letter: str) -> None:
    kind = TYPES[letter][0]
    a = matrix(letter, 2, 4, 4)
    near = {"rtol": 0, "atol": 1e-4}
    factors, pivots, order = call("LuDecomposition", f"({kind}[2,4,4], s32[2,4], s32[2,4])", a)
    lower, upper = np.tril(factors, -1) + np.eye(4), np.triu(factors)
    for k in range(2):
        np.testing.assert_allclose(lower[k] @ upper[k], a[k][order[k]], **near)
    assert (pivots >= np.arange(4)).all()
    whole = a @ a.swapaxes(1, 2) + np.eye(4, dtype=a.dtype)
    factor = call("Cholesky", f"{kind}[2,4,4]", whole)
    np.testing.assert_allclose(factor @ factor.swapaxes(1, 2), whole, **near)
    assert np.isnan(np.diagonal(call("Cholesky", f"{kind}[2,4,4]", -whole)[0])).all()
    r, _ = call("QrDecompositionBlock", f"({kind}[2,4,4], {kind}[2,4])", a)
    r = np.triu(r)
    np.testing.assert_allclose(r.swapaxes(1, 2) @ r, a.swapaxes(1, 2) @ a, **near)
    for name, part in (("Lower", np.tril), ("Upper", np.triu)):
        inverse = call(f"InvertDiagBlocks{name}Triangular", f"{kind}[2,4,4]", part(whole))
        np.testing.assert_allclose(inverse @ part(whole), np.array([np.eye(4)] * 2), **near)


@pytest.mark.parametrize("letter", FACTORED)
def test_factors_of_blocks_are_compiled(letter: str) -> None:
    """Matrices without factors, too: not positive definite ones, and those of NaN."""
    kind = TYPES[letter][0]
    tall = matrix(letter, 2, 4, 3)
    square = matrix(letter, 2, 3, 3)
    whole = square @ square.conj().swapaxes(1, 2) + np.eye(3, dtype=square.dtype)
    whole[1] *= -1
    for target, shape, a in (
        ("LuDecomposition", f"({kind}[2,4,3], s32[2,3], s32[2,4])", tall),
        ("LuDecomposition", f"({kind}[2,4,3], s32[2,3], s32[2,4])", np.full_like(tall, np.nan)),
        ("LuRealDecompositionBlock", f"({kind}[2,3,3], s32[2,3], s32[2,3])", square),
        ("QrDecompositionBlock", f"({kind}[2,4,3], {kind}[2,3])", tall),
        ("Cholesky", f"{kind}[2,3,3]", whole),
        ("InvertDiagBlocksLowerTriangular", f"{kind}[2,3,3]", whole),
        ("InvertDiagBlocksUpperTriangular", f"{kind}[2,3,3]", whole),
    ):
        dims = ",".join(map(str, a.shape))
        module = hlo.parse(f"""ENTRY e {{
          a = {kind}[{dims}] parameter(0)
          ROOT r = {shape} custom-call(a), custom_call_target="{target}"
        }}""")
        meant = interpreter.evaluate(module, a)
        for compiled in (emit_c.compile(module), emit_cuda.compile(module, "host")):
            assert compare(compiled(a), meant, ROUNDING) is None, target
