"""Generators of opcodes that speak to other devices and to the host."""

import numpy as np
from hypothesis import strategies as st
from strategies.ops.registry import (
    folding,
    given,
    numbers,
    op,
)
from strategies.values import dims, element_types, sizes

from hlo.build import Builder
from hlo.instruction import Instruction
from hlo.types.element_type import F32, U32
from hlo.types.literal import Literal, literal
from hlo.types.shape import TOKEN_SHAPE, Shape, array, tuple_of


@op("partition-id", "replica-id")
def device_number(_draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    return b.add(opcode, shape=array(U32))


@op("all-reduce", "all-reduce-start", "reduce-scatter")
def reduced(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    kind = draw(numbers)
    attrs = {"dimensions": (0,)} if opcode == "reduce-scatter" else {}
    operand = given(b, kind, *draw(dims(min_rank=1)))
    return b.add(
        opcode,
        operand,
        shape=shape_alone(opcode, operand),
        called=[folding(b, "add", kind)],
        **attrs,
    )


@op("all-gather", "all-gather-start", "all-to-all", "collective-broadcast")
def gathered(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    operand = given(b, draw(element_types), *draw(dims(min_rank=1)))
    attrs = {} if opcode == "collective-broadcast" else {"dimensions": (0,)}
    return b.add(opcode, operand, shape=shape_alone(opcode, operand), **attrs)


@op("collective-permute", "collective-permute-start")
def permuted(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    operand = given(b, draw(element_types), *draw(dims()))
    pairs = draw(st.sampled_from((((0, 0),), ())))
    return b.add(opcode, operand, shape=shape_alone(opcode, operand), source_target_pairs=pairs)


def shape_alone(opcode: str, operand: Instruction) -> Shape:
    """The result of a collective that has one device in each group."""
    if opcode in ("all-gather-start", "collective-permute-start"):
        return tuple_of(operand.shape, operand.shape)
    return operand.shape


@op("all-reduce-done", "all-gather-done", "collective-permute-done")
def done(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    start = opcode.removesuffix("done") + "start"
    make = {"all-reduce-start": reduced, "all-gather-start": gathered}.get(start, permuted)
    return b.add(opcode, make(draw, b, start))


@op("ragged-all-to-all")
def ragged_all_to_all(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    n = draw(sizes)
    rest = draw(dims(max_rank=1))
    places = [b.constant(zero_or(n)) for n in (0, n, 0, n)]
    return b.add(opcode, given(b, F32, n, *rest), given(b, F32, n, *rest), *places)


def zero_or(n: int) -> Literal:
    """A vector of one s64 number."""
    return literal(np.array([n], np.int64))


@op("infeed")
def infeed(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    shape = tuple_of(array(F32, draw(dims())), TOKEN_SHAPE)
    return b.add("infeed", b.parameter(TOKEN_SHAPE), shape=shape, infeed_config="queue")


@op("outfeed", "send")
def sent(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    operand = given(b, F32, *draw(dims()))
    if opcode == "outfeed":
        return b.add(opcode, operand, b.parameter(TOKEN_SHAPE), outfeed_shape=operand.shape)
    return b.add(opcode, operand, b.parameter(TOKEN_SHAPE), channel_id=1, is_host_transfer=True)


@op("recv")
def received(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    shape = tuple_of(array(F32, draw(dims())), array(U32), TOKEN_SHAPE)
    token = b.parameter(TOKEN_SHAPE)
    return b.add("recv", token, shape=shape, channel_id=1, is_host_transfer=True)


@op("send-done", "recv-done")
def transferred(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    start = sent(draw, b, "send") if opcode == "send-done" else received(draw, b, "recv")
    return b.add(opcode, start, channel_id=1, is_host_transfer=True)
