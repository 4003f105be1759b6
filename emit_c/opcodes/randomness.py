"""The kernels of random bits: the generators, and the state of the device's own."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.indexing import linear, unknown
from emit_c.code.types import store
from emit_c.opcodes.movement import from_bits
from emit_c.table import Kernel, emits_c
from interpreter.random import halved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from emit_c.kernels.body import Body
    from hlo import attributes as a
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


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
    single = data.element_type.bits == 64 or not data.dims
    half, axis = (data.dims or (1,), 0) if single else halved(data.dims)
    pairs = 0 if single else data.dims[axis] // 2
    # Of an odd number of neighbours, the last one has a counter of its own.
    for start, stop, words in ((0, pairs, 2), (pairs, half[axis], 1)):
        sizes = (*half[:axis], stop - start, *half[axis + 1 :])
        if 0 in sizes:
            continue
        with body.lanes([f"h{d}" for d in range(len(sizes))], sizes, parallel=True) as place:
            index = (*place[:axis], place[axis] + start, *place[axis + 1 :])
            number = linear(index, half).text
            bits = body.let("u64", "bits", f"threefry({state[0]}, {state[1]} + (u64)({number}))")
            for k in range(words):
                at = index if single else (*index[:axis], index[axis] * 2 + k, *index[axis + 1 :])
                word = bits if single else f"(u32)({bits} >> {32 * k})"
                _put(body, output, linear(at[: len(data.dims)], data.dims).text, data, word)
    return (f"{state[1]} + {prod(half)}u",)


def _write_philox(body: Body, state: Sequence[str], data: Shape, output: str) -> tuple[str, ...]:
    """A counter gives 128 bits for the next elements: two of 64 bits, or four of at most 32."""
    count = data.size
    each = 2 if data.element_type.bits == 64 else 4
    upper = state[2] if len(state) == 3 else state[0]
    whole, rest = divmod(count, each)
    for start, steps, elements in ((0, whole, each), (whole, min(rest, 1), rest)):
        if not steps:
            continue
        with body.lanes(["step"], [steps], parallel=True) as (place,):
            step = place + start
            low = body.let("u64", "low", f"{state[1]} + (u64)({step.text})")
            high = body.let("u64", "high", f"{upper} + ({low} < {state[1]})")
            halves = [
                body.let("u64", "half", f"philox({state[0]}, {low}, {high}, {k})") for k in range(2)
            ]
            for k in range(elements):
                word = halves[k] if each == 2 else f"(u32)({halves[k // 2]} >> {32 * (k % 2)})"
                _put(body, output, (step * each + k).text, data, word)
    after = body.let("u64", "after", f"{state[1]} + {whole + min(rest, 1)}u")
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
