"""Bitcast and bitcast-convert: bits stay, their reading changes."""

import struct
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import run
from single import values

import hlo
import interpreter
from hlo.types.element_type import ARRAY_TYPES, ELEMENT_TYPES, element_type_of
from interpreter.numbers.compare import compare

NAMES = [t.name for t in ARRAY_TYPES if not t.is_complex and t.name != "pred"]


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("source", ["u8", "s4", "u2", "f32", "u64", "bf16"])
def test_converting_there_and_back_keeps_bits(source: str, target: str) -> None:
    row = values(source, np.random.default_rng(7).integers(0, 200, 64))
    ratio = ELEMENT_TYPES[target].bits / ELEMENT_TYPES[source].bits
    operand = row.reshape(-1, int(ratio)) if ratio > 1 else row
    there = run(typed(target, operand), operand)
    back = run(typed(source, there), there)
    assert back.reshape(-1).tobytes() == row.tobytes()


def typed(target: str, operand: Any) -> str:
    """A bitcast-convert to a type, with the shape that it gives."""
    source = element_type_of(operand.dtype)
    assert source is not None
    dims = list(operand.shape)
    bits = ELEMENT_TYPES[target].bits
    if bits > source.bits:
        dims = dims[:-1]
    elif bits < source.bits:
        dims = [*dims, source.bits // bits]
    return f"{target}[{','.join(map(str, dims))}] bitcast-convert(p0)"


def test_low_bits_come_first() -> None:
    row = np.array([0x21, 0x43], np.uint8)
    assert run("u4[2,2] bitcast-convert(p0)", row).astype(int).tolist() == [[1, 2], [3, 4]]
    assert run("u16[] bitcast-convert(p0)", row) == 0x4321
    assert run("u1[2,8] bitcast-convert(p0)", row)[0].astype(int).tolist() == [
        1,
        0,
        0,
        0,
        0,
        1,
        0,
        0,
    ]
    assert run("s4[2,2] bitcast-convert(p0)", row * 4)[0].astype(int).tolist() == [4, -8]


def test_floats_show_their_bits() -> None:
    numbers = [1.5, -0.0, float("inf")]
    got = run("u32[3] bitcast-convert(p0)", np.array(numbers, np.float32))
    assert got.tolist() == [struct.unpack("<I", struct.pack("<f", x))[0] for x in numbers]


@given(st.permutations(range(3)), st.permutations(range(3)))
def test_bitcast_reads_memory_in_layout_order(before: list[int], after: list[int]) -> None:
    operand = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    # In memory the operand's dimensions come from the slowest to the fastest.
    memory = operand.transpose(before[::-1]).ravel()
    sizes = [4, 2, 3]
    text = (
        f"s32[4,2,3]{{{','.join(map(str, after))}}} bitcast("
        f"s32[2,3,4]{{{','.join(map(str, before))}}} copy)"
    )
    layout = ",".join(map(str, before))
    module = hlo.parse(
        f"HloModule m\nENTRY e {{ p = s32[2,3,4] parameter(0)\n"
        f"copy = s32[2,3,4]{{{layout}}} copy(p)\nROOT r = {text} }}"
    )
    got = interpreter.evaluate(module, operand)
    strides, step = [0] * 3, 1
    for d in after:
        strides[d] = step
        step *= sizes[d]
    for index in np.ndindex(*sizes):
        assert got[index] == memory[sum(i * s for i, s in zip(index, strides, strict=True))]


def test_bitcast_to_another_width() -> None:
    operand = np.array([1.0, -2.0], np.float32)
    assert run("u8[8] bitcast(p0)", operand).tobytes() == operand.tobytes()
    assert run("f32[2] bitcast(p0)", operand.view(np.uint8)).tolist() == [1.0, -2.0]
    packed = values("s4", [1, -1, 7, -8])
    assert run("u8[2] bitcast(p0)", packed).tolist() == [0xF1, 0x87]


def test_pred_is_a_byte() -> None:
    row = np.array([True, False])
    assert run("u8[2] bitcast-convert(p0)", row).tolist() == [1, 0]
    assert compare(row, run("pred[2] bitcast-convert(p0)", np.array([1, 0], np.uint8))) is None


def test_chains_of_widths_agree() -> None:
    row = np.random.default_rng(1).integers(0, 256, (4, 8)).astype(np.uint8)
    whole = run("u64[4] bitcast-convert(p0)", row)
    parts = row
    for narrow, wide in pairwise(["u8", "u16", "u32", "u64"]):
        paired = parts.reshape(*parts.shape[:-1], -1, 2)
        assert paired.dtype == ELEMENT_TYPES[narrow].dtype
        parts = run(typed(wide, paired), paired)
    assert parts.reshape(4).tolist() == whole.tolist()


def test_a_bitcast_needs_as_many_bytes() -> None:
    text = "ENTRY e {\n p = f32[4] parameter(0)\n ROOT r = s16[4] bitcast(p)\n}"
    with pytest.raises(hlo.HloError) as caught:
        interpreter.evaluate(hlo.parse(text), np.zeros(4, np.float32))
    assert caught.value.code == "HLO036"
    assert caught.value.span is not None


def test_a_bitcast_moves_nothing() -> None:
    """A matrix read as its transpose, and transposed, is where it was: BLAS sums up as before."""
    dims = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    x, y = np.random.default_rng(0).normal(size=(2, 100, 100)).astype(np.float32)
    head = "ENTRY e { x = f32[100,100] parameter(0)\ny = f32[100,100]{0,1} parameter(1)"
    plain = f"{head}\nROOT d = f32[100,100] dot(x, y), {dims} }}"
    there = "b = f32[100,100]{1,0} bitcast(y)"
    back = "t = f32[100,100]{1,0} transpose(b), dimensions={1,0}"
    moved = f"{head}\n{there}\n{back}\nROOT d = f32[100,100] dot(x, t), {dims} }}"
    want, got = (interpreter.evaluate(hlo.parse(text), x, y) for text in (plain, moved))
    assert compare(got, want) is None
