"""The kernels of random bits: the generators, and the state of the device's own."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from codegen.callees import FUNCTIONS
from codegen.elements.table import WholeArray, elements
from codegen.elements.types import store
from codegen.expressions import Cast, Expr, Group, Literal, Name, apply, binary, indexed, item
from codegen.opcodes.bits import from_bits
from hlo import attributes as a
from interpreter.random import halved
from optimizer.analysis.indexing import linear, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from optimizer.analysis.indexing import Sum


def write_rng_bit_generator(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """The next state, and random bits."""
    attrs = a.RngBitGenerator.of(instr)
    state, data = instr.operands[0], instr.shape.elements[1]
    words = state.shape.dims[0]
    state_words = [body.element(state, (unknown("", k, k),)) for k in range(words)]
    if attrs.algorithm == "rng_three_fry":
        after = _write_threefry(body, state_words, data, outputs[1])
    else:
        after = _write_philox(body, state_words, data, outputs[1])
    for k, value in enumerate((state_words[0], *after)[:words]):
        body.assign(item(outputs[0], k), value)
    if words == 3 and len(after) == 1:
        body.assign(item(outputs[0], 2), 0)


def _put(body: Body, array: Name, number: Sum, shape: Shape, bits: Expr) -> None:
    kind = shape.element_type
    body.assign(item(array, number), store(kind, from_bits(body, bits, kind)))


def _write_threefry(
    body: Body, state: Sequence[Expr], data: Shape, output: Name
) -> tuple[Expr, ...]:
    """A counter gives one word of 64 bits, or two of 32 for neighbours in one dimension."""
    single = data.element_type.bits == 64 or not data.dims
    half, axis = (data.dims or (1,), 0) if single else halved(data.dims)
    pairs = 0 if single else data.dims[axis] // 2
    # Of an odd number of neighbours, the last one has a counter of its own.
    for start, stop, words in ((0, pairs, 2), (pairs, half[axis], 1)):
        sizes = (*half[:axis], stop - start, *half[axis + 1 :])
        if 0 in sizes:
            continue
        with body.lanes([f"h{d}" for d in range(len(sizes))], sizes, parallel=True) as counters:
            index = (*counters[:axis], counters[axis] + start, *counters[axis + 1 :])
            number = Cast("u64", Group(indexed(linear(index, half))))
            bits = body.let(
                "u64", "bits", apply(FUNCTIONS["threefry"], state[0], state[1] + number)
            )
            for k in range(words):
                at = index if single else (*index[:axis], index[axis] * 2 + k, *index[axis + 1 :])
                word = bits if single else Cast("u32", bits >> 32 * k)
                _put(body, output, linear(at[: len(data.dims)], data.dims), data, word)
    return (state[1] + Literal(prod(half), "u32"),)


def _write_philox(body: Body, state: Sequence[Expr], data: Shape, output: Name) -> tuple[Expr, ...]:
    """A counter gives 128 bits for the next elements: two of 64 bits, or four of at most 32."""
    count = data.size
    per_block = 2 if data.element_type.bits == 64 else 4
    upper = state[2] if len(state) == 3 else state[0]
    whole, rest = divmod(count, per_block)
    for start, steps, count_each in ((0, whole, per_block), (whole, min(rest, 1), rest)):
        if not steps:
            continue
        with body.lanes(["step"], [steps], parallel=True) as (counted,):
            step = counted + start
            low = body.let("u64", "low", state[1] + Cast("u64", Group(indexed(step))))
            high = body.let("u64", "high", upper + Group(binary("<", low, state[1])))
            halves = [
                body.let("u64", "half", apply(FUNCTIONS["philox"], state[0], low, high, k))
                for k in range(2)
            ]
            for k in range(count_each):
                word = halves[k] if per_block == 2 else Cast("u32", halves[k // 2] >> 32 * (k % 2))
                _put(body, output, step * per_block + k, data, word)
    after = body.let("u64", "after", state[1] + Literal(whole + min(rest, 1), "u32"))
    return after, upper + Group(binary("<", after, state[1]))


def write_rng_get_and_update_state(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """The state of the device's generator before it advances."""
    attrs = a.RngGetAndUpdateState.of(instr)
    body.call(FUNCTIONS["advance_random_state"], outputs[0], Literal(attrs.delta, "s64"))


elements.define_all(
    {
        "rng-bit-generator": WholeArray(write_rng_bit_generator, in_memory=()),
        "rng-get-and-update-state": WholeArray(write_rng_get_and_update_state),
    }
)
