"""Random numbers: the published answers of the generators, XLA's layout, and distributions."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from single import values

from hlo.attributes import Rng, RngBitGenerator, RngGetAndUpdateState
from hlo.errors.error import HloError
from hlo.instruction import Instruction
from hlo.types.element_type import ELEMENT_TYPES, U64
from hlo.types.shape import array, tuple_of
from interpreter.engine.device import Device
from interpreter.random import interleaved, philox, threefry
from interpreter.table import evaluates


def words(*numbers: int) -> tuple[Any, ...]:
    return tuple(np.array([n], np.uint32) for n in numbers)


def numbers_of(result: tuple[Any, ...]) -> list[int]:
    return [int(word[0]) for word in result]


ONES, PI = 0xFFFFFFFF, (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0)


def test_threefry_known_answers() -> None:
    """The test vectors that come with Random123, its authors' library."""
    assert numbers_of(threefry(words(0, 0), words(0, 0))) == [0x6B200159, 0x99BA4EFE]
    assert numbers_of(threefry(words(ONES, ONES), words(ONES, ONES))) == [0x1CB996FC, 0xBB002BE7]
    got = numbers_of(threefry(words(*PI[2:4]), words(*PI[:2])))
    assert got == [0xC4923A9C, 0x483DF7A0]


def test_philox_known_answers() -> None:
    zeros = numbers_of(philox(words(0, 0), words(0, 0, 0, 0)))
    assert zeros == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = numbers_of(philox(words(ONES, ONES), words(ONES, ONES, ONES, ONES)))
    assert ones == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    got = numbers_of(philox(words(*PI[4:6]), words(*PI[:4])))
    assert got == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


def generate(algorithm: str, state: list[int], element_type: str, dims: tuple[int, ...]) -> Any:
    attrs = RngBitGenerator(algorithm=algorithm)
    before = np.array(state, np.uint64)
    shape = tuple_of(array(U64, before.shape), array(ELEMENT_TYPES[element_type], dims))
    instr = Instruction("r", "rng-bit-generator", shape, (), attrs)
    after, bits = evaluates["rng-bit-generator"](instr, attrs, before)
    assert bits.dtype == ELEMENT_TYPES[element_type].dtype
    assert bits.shape == dims
    return [int(word) for word in after], bits


MAX = 2**64 - 1
# Algorithm, state, type, dimensions, next state, bits: from jaxlib 0.10.2.
MEASURED: list[Any] = [
    (
        "rng_three_fry",
        [123456789012345, MAX],
        "u32",
        (3, 3),
        [123456789012345, 5],
        [
            1915343300,
            665720666,
            1318464823,
            1309671972,
            1048139916,
            663153676,
            2912423063,
            977820002,
            610192556,
        ],
    ),
    ("rng_three_fry", [123456789012345, MAX], "u32", (), [123456789012345, 0], [1915343300]),
    (
        "rng_three_fry",
        [123456789012345, MAX],
        "u32",
        (3, 2),
        [123456789012345, 2],
        [1915343300, 1309671972, 665720666, 1048139916, 1318464823, 663153676],
    ),
    (
        "rng_three_fry",
        [123456789012345, MAX],
        "u64",
        (3,),
        [123456789012345, 2],
        [5624998290143171012, 4501726661517907802, 2848223351960644919],
    ),
    (
        "rng_three_fry",
        [123456789012345, MAX],
        "u16",
        (5,),
        [123456789012345, 2],
        [53700, 548, 5978, 22668, 11575],
    ),
    (
        "rng_philox",
        [123456789012345, MAX],
        "u32",
        (5,),
        [123456789012345, 1],
        [2632834309, 2325248945, 2397082208, 1415938123, 1980270325],
    ),
    (
        "rng_philox",
        [123456789012345, MAX, MAX - 1],
        "u32",
        (2, 3),
        [123456789012345, 1, MAX],
        [1094922024, 3416665440, 305918962, 1267339827, 1813997909, 855967731],
    ),
    (
        "rng_philox",
        [123456789012345, MAX, MAX - 1],
        "u64",
        (3,),
        [123456789012345, 1, MAX],
        [14674466327268372264, 5443183110189216754, 3676353412890323285],
    ),
    (
        "rng_default",
        [123456789012345, MAX, MAX - 1],
        "u8",
        (6,),
        [123456789012345, 1, MAX],
        [40, 96, 242, 51, 85, 243],
    ),
]


@pytest.mark.parametrize(("algorithm", "state", "element_type", "dims", "after", "bits"), MEASURED)
def test_measured_on_xla_cpu(
    algorithm: str,
    state: list[int],
    element_type: str,
    dims: tuple[int, ...],
    after: list[int],
    bits: list[int],
) -> None:
    got_state, got = generate(algorithm, state, element_type, dims)
    assert got_state == after
    assert [int(n) for n in got.ravel()] == bits


@pytest.mark.parametrize("element_type", ["u4", "f4e2m1fn", "s8", "u16", "bf16", "s32", "f64"])
@pytest.mark.parametrize("algorithm", ["rng_three_fry", "rng_philox"])
def test_narrow_types_take_the_low_bits(algorithm: str, element_type: str) -> None:
    width = ELEMENT_TYPES[element_type].bits
    after, wide = generate(algorithm, [5, 7], "u64" if width == 64 else "u32", (3, 5))
    same, bits = generate(algorithm, [5, 7], element_type, (3, 5))
    assert same == after
    codes = bits.astype(np.uint8) if element_type == "u4" else bits.view(f"u{bits.dtype.itemsize}")
    assert (codes == wide & (2**width - 1)).all()


@pytest.mark.parametrize("algorithm", ["rng_three_fry", "rng_philox", "rng_default"])
def test_the_next_state_continues_the_sequence(algorithm: str) -> None:
    # 8 numbers of 64 bits at once, or 4 and then 4 from the state after those.
    _, whole = generate(algorithm, [9, 2**64 - 3, 6], "u64", (8,))
    middle, first = generate(algorithm, [9, 2**64 - 3, 6], "u64", (4,))
    _, second = generate(algorithm, middle, "u64", (4,))
    if algorithm == "rng_three_fry":
        # Its counter has 64 bits: a third word of state means nothing.
        _, whole = generate(algorithm, [9, 2**64 - 3], "u64", (8,))
    assert (np.concatenate([first, second]) == whole).all()


def test_the_older_form_gives_the_bits_alone() -> None:
    attrs = RngBitGenerator(algorithm="rng_three_fry")
    instr = Instruction("r", "rng-bit-generator", array(ELEMENT_TYPES["u32"], (5,)), (), attrs)
    bits = evaluates["rng-bit-generator"](instr, attrs, np.array([3, 4], np.uint64))
    assert bits.tolist() == [555017538, 3728210106, 1109507171, 3604763515, 3802093305]


def test_states_of_other_types_are_read_by_their_bytes() -> None:
    attrs = RngBitGenerator(algorithm="rng_philox")
    state = np.array([5, 0, 7, 1], np.uint32)
    shape = tuple_of(array(ELEMENT_TYPES["u32"], (4,)), array(ELEMENT_TYPES["u32"], (3,)))
    instr = Instruction("r", "rng-bit-generator", shape, (), attrs)
    after, bits = evaluates["rng-bit-generator"](instr, attrs, state)
    want_after, want = generate("rng_philox", [5, 7 + 2**32], "u32", (3,))
    assert after.tolist() == [5, 0, 8, 1]
    assert want_after == [5, 8 + 2**32]
    assert (bits == want).all()
    after, bits = evaluates["rng-bit-generator"](instr, attrs, state.reshape(2, 2))
    assert after.tolist() == [[5, 0], [8, 1]]
    assert (bits == want).all()
    with pytest.raises(HloError, match="16 or 24 bytes is needed, not of 8"):
        evaluates["rng-bit-generator"](instr, attrs, state[:2])


@pytest.mark.parametrize("dims", [(), (1,), (5,), (3, 5), (4, 3), (3, 4, 2), (0,), (3, 0)])
def test_interleaving_alternates_in_one_dimension(dims: tuple[int, ...]) -> None:
    whole = np.arange(np.prod(dims, dtype=int)).reshape(dims)
    even = [axis for axis, size in enumerate(dims) if size % 2 == 0]
    axis = even[0] if even else int(np.argmax(dims)) if dims else 0
    row = whole.reshape(dims or (1,))
    x, y = (np.take(row, range(start, row.shape[axis], 2), axis) for start in (0, 1))
    y = np.concatenate([y, np.take(x, range(y.shape[axis], x.shape[axis]), axis)], axis)
    assert (interleaved(x, y, dims) == whole).all()


def draw(distribution: str, element_type: str, dims: tuple[int, ...], a: Any, b: Any) -> Any:
    attrs = Rng(distribution=distribution)
    shape = array(ELEMENT_TYPES[element_type], dims)
    frame = SimpleNamespace(device=Device())
    instr = Instruction("r", "rng", shape, (), attrs)
    low, high = values(element_type, a), values(element_type, b)
    got = evaluates["rng"](frame, instr, attrs, low, high)
    assert (got.dtype, got.shape) == (ELEMENT_TYPES[element_type].dtype, dims)
    again = evaluates["rng"](frame, instr, attrs, low, high)
    assert not (got == again).all()
    return got


@pytest.mark.parametrize("element_type", ["f16", "bf16", "f32", "f64"])
def test_uniform_floats(element_type: str) -> None:
    got = draw("rng_uniform", element_type, (40, 50), -2.0, 6.0).astype(np.float64)
    assert got.min() >= -2
    assert got.max() <= 6
    assert np.allclose(np.quantile(got, [0.25, 0.5, 0.75]), [0, 2, 4], atol=0.4)


@pytest.mark.parametrize("element_type", ["f16", "bf16", "f32", "f64"])
def test_normal_floats(element_type: str) -> None:
    got = draw("rng_normal", element_type, (41, 51), 3.0, 2.0).astype(np.float64)
    assert abs(got.mean() - 3) < 0.2
    assert abs(got.std() - 2) < 0.2
    assert abs(np.mean(np.abs(got - 3) < 2) - 0.683) < 0.04


@pytest.mark.parametrize("element_type", ["s4", "u8", "s32", "u32", "s64", "u64"])
def test_uniform_integers(element_type: str) -> None:
    low = -3 if element_type.startswith("s") else 2
    got = draw("rng_uniform", element_type, (500,), low, 5).astype(np.int64)
    assert set(got.tolist()) == set(range(low, 5))


def test_complex_numbers_have_no_distribution() -> None:
    with pytest.raises(HloError, match="rng is not defined for c64"):
        draw("rng_uniform", "c64", (2,), 0, 1)


def test_device_state_advances() -> None:
    attrs = RngGetAndUpdateState(delta=2**63)
    instr = Instruction("r", "rng-get-and-update-state", array(U64, (2,)), (), attrs)
    frame = SimpleNamespace(device=Device())
    got = [evaluates["rng-get-and-update-state"](frame, instr, attrs).tolist() for _ in range(3)]
    assert got == [[0x7012395, 0], [0x7012395 + 2**63, 0], [0x7012395, 1]]
