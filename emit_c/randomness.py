"""The kernels of random bits: the generators, and the state of the device's own."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from emit_c.indexing import linear, unknown
from emit_c.loops import For
from emit_c.movement import from_bits
from emit_c.table import Kernel, emits_c
from emit_c.types import store
from interpreter.random import halved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emit_c.body import Body
    from hlo import attributes as a
    from hlo.instruction import Instruction
    from hlo.shape import Shape


def write_rng_bit_generator(body: Body, instr: Instruction, outputs: Sequence[str]) -> None:
    """The next state, and random bits."""
    attrs: a.RngBitGenerator = instr.attrs  # type: ignore[assignment]
    state, data = instr.operands[0], instr.shape.elements[1]
    words = state.shape.dims[0]
    given = [body.element(state, (unknown("", k, k),)) for k in range(words)]
    if attrs.algorithm == "rng_three_fry":
        after = _write_threefry(body, given, data, outputs[1])
    else:
        after = _write_philox(body, given, data, outputs[1])
    for k, value in enumerate((given[0], *after)[:words]):
        body.assign(f"{outputs[0]}[{k}]", value)
    if words == 3 and len(after) == 1:
        body.assign(f"{outputs[0]}[2]", "0")


def _put(body: Body, array: str, place: str, shape: Shape, bits: str) -> None:
    kind = shape.element_type
    body.assign(f"{array}[{place}]", store(kind, from_bits(body, bits, kind)))


def _write_threefry(body: Body, state: Sequence[str], data: Shape, output: str) -> tuple[str, ...]:
    """A counter gives one word of 64 bits, or two of 32 for neighbours in one dimension."""
    width = data.element_type.bits
    half, axis = (data.dims, 0) if width == 64 else halved(data.dims)
    with body.loops([f"h{d}" for d in range(len(half))], half, parallel=True) as index:
        number = linear(index, half).text
        bits = body.let("u64", "bits", f"threefry({state[0]}, {state[1]} + (u64)({number}))")
        if width == 64 or not data.dims:
            _put(body, output, linear(index[: len(data.dims)], data.dims).text, data, bits)
        else:
            for k in range(2):
                place = (*index[:axis], index[axis] * 2 + k, *index[axis + 1 :])
                inside = place[axis].high < data.dims[axis]
                with body.when("" if inside else f"{place[axis].text} < {data.dims[axis]}"):
                    word = f"(u32)({bits} >> {32 * k})"
                    _put(body, output, linear(place, data.dims).text, data, f"(u64){word}")
    return (f"{state[1]} + {prod(half)}u",)


def _write_philox(body: Body, state: Sequence[str], data: Shape, output: str) -> tuple[str, ...]:
    """A counter gives 128 bits for the next elements: two of 64 bits, or four of at most 32."""
    width, count = data.element_type.bits, data.size
    each = 2 if width == 64 else 4
    steps = -(-count // each)
    upper = state[2] if len(state) == 3 else state[0]
    with body.block() as block:
        words = body.variable("u32", "words", size=4)
        low = body.let("u64", "low", f"{state[1]} + (u64)step")
        high = body.let("u64", "high", f"{upper} + ({low} < {state[1]})")
        body.call("philox", state[0], low, high, words)
        for k in range(each):
            bits = f"{words}[{k}]"
            if width == 64:
                bits = f"{words}[{2 * k}] | (u64){words}[{2 * k + 1}] << 32"
            with body.when(f"{each} * step + {k} < {count}"):
                _put(body, output, f"{each} * step + {k}", data, f"(u64){bits}")
    body.add(For("step", steps, tuple(block), parallel=True))
    after = body.let("u64", "after", f"{state[1]} + {steps}u")
    return after, f"{upper} + ({after} < {state[1]})"


def write_rng_get_and_update_state(body: Body, instr: Instruction, outputs: Sequence[str]) -> None:
    """The state of the device's generator before it advances."""
    attrs: a.RngGetAndUpdateState = instr.attrs  # type: ignore[assignment]
    body.call("advance_random_state", outputs[0], f"{attrs.delta}ll")


emits_c.define_all(
    {
        "rng-bit-generator": Kernel(write_rng_bit_generator, in_memory=()),
        "rng-get-and-update-state": Kernel(write_rng_get_and_update_state),
    }
)
