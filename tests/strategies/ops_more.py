"""The generators of opcodes that sort, call, draw random numbers or speak to other devices."""

import numpy as np
from hypothesis import strategies as st
from strategies.ops import folding, given, integer, numbers, op, same
from strategies.values import dims, element_types, sizes

from hlo.build import Builder
from hlo.element_type import C64, F32, PRED, S32, U32, U64
from hlo.instruction import Instruction
from hlo.literal import Literal, literal
from hlo.opcode import OPCODES
from hlo.shape import TOKEN_SHAPE, Shape, array, tuple_of

# Opcodes that wait for the host, so that a module alone can't run them; a custom call needs a
# function, and what is under way after an async-update has no value to look at.
NOT_EVALUATED = {"infeed", "recv", "recv-done", "send", "send-done", "custom-call", "async-update"}
# Opcodes that must be followed by another one.
STARTS = {name for name in OPCODES if name.endswith(("-start", "-update"))} | {"send", "recv"}


@op("sort")
def sort(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    wanted = draw(dims(min_rank=1))
    inner = Builder(b.names.unique("less"), b.names)
    x, y = given(inner, F32), given(inner, F32)
    given(inner, S32), given(inner, S32)
    less = inner.build(inner.add("compare", x, y, direction="LT", type="TOTALORDER"))
    operands = given(b, F32, *wanted), given(b, S32, *wanted)
    attrs = {"dimensions": (draw(st.integers(0, len(wanted) - 1)),), "is_stable": True}
    return b.add("sort", *operands, called=[less], **attrs)


@op("topk")
def topk(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    operand = given(b, draw(numbers.filter(lambda t: not t.is_complex)), *draw(dims(min_rank=1)))
    k = draw(st.integers(0, operand.shape.dims[-1]))
    return b.add("topk", operand, k=k, largest=draw(st.booleans()))


@op("scan")
def scan(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    wanted = draw(dims(min_rank=1, max_rank=2))
    inner = Builder(b.names.unique("step"), b.names)
    rest = array(F32, wanted[1:])
    x, carry = inner.parameter(rest), inner.parameter(rest)
    total = inner.add("add", x, carry)
    step = inner.build(inner.add("tuple", total, total))
    operands = given(b, F32, *wanted), b.parameter(rest)
    attrs = {"dimensions": (0,), "num_carries": 1, "is_reverse": draw(st.booleans())}
    return b.add("scan", *operands, called=[step], **attrs)


@op("map")
def mapped(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    kind, wanted = draw(numbers), draw(dims())
    operands = given(b, kind, *wanted), given(b, kind, *wanted)
    attrs = {"dimensions": tuple(range(len(wanted)))}
    return b.add("map", *operands, called=[folding(b, "add", kind)], **attrs)


@op("batch-norm-training", "batch-norm-inference", "batch-norm-grad")
def batch_norm(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    wanted = (draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    feature = draw(st.integers(0, 2))
    vectors = {"batch-norm-training": 2, "batch-norm-inference": 4, "batch-norm-grad": 3}[opcode]
    operands = [given(b, F32, *wanted), *(given(b, F32, wanted[feature]) for _ in range(vectors))]
    operands += [given(b, F32, *wanted)] if opcode == "batch-norm-grad" else []
    return b.add(opcode, *operands, epsilon=0.001, feature_index=feature)


@op("cholesky")
def cholesky(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    n = draw(sizes)
    return b.add(
        "cholesky", given(b, F32, *draw(dims(max_rank=1)), n, n), lower=draw(st.booleans())
    )


@op("triangular-solve")
def triangular_solve(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    n, m = draw(sizes), draw(sizes)
    left = draw(st.booleans())
    attrs = {"left_side": left, "lower": draw(st.booleans()), "unit_diagonal": draw(st.booleans())}
    attrs["transpose_a"] = draw(st.sampled_from(("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")))
    operands = given(b, F32, n, n), given(b, F32, *((n, m) if left else (m, n)))
    return b.add("triangular-solve", *operands, **attrs)


@op("fft")
def fft(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    kind = draw(st.sampled_from(("FFT", "IFFT", "RFFT", "IRFFT")))
    n, lead = draw(st.integers(1, 4)), draw(dims(max_rank=1))
    last = n // 2 + 1 if kind == "IRFFT" else n
    operand = given(b, F32 if kind == "RFFT" else C64, *lead, last)
    return b.add("fft", operand, fft_type=kind, fft_length=(n,))


@op("rng")
def rng(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    kind = draw(st.sampled_from(("rng_uniform", "rng_normal")))
    shape = array(F32, draw(dims()))
    return b.add("rng", given(b, F32), given(b, F32), shape=shape, distribution=kind)


@op("rng-bit-generator")
def rng_bit_generator(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    algorithm = draw(st.sampled_from(("rng_three_fry", "rng_philox")))
    words = 2 if algorithm == "rng_three_fry" else draw(st.sampled_from((2, 3)))
    bits = array(draw(st.sampled_from((U32, U64))), draw(dims()))
    shape = tuple_of(array(U64, (words,)), bits)
    return b.add("rng-bit-generator", given(b, U64, words), shape=shape, algorithm=algorithm)


@op("rng-get-and-update-state")
def rng_state(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    return b.add(opcode, shape=array(U64, (2,)), delta=draw(st.integers(0, 9)))


@op("call", "fusion", "async-start")
def called(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    # What is started asynchronously is printed as one instruction; these are the names that XLA
    # gives to what is hidden then.
    name = "async_computation" if opcode == "async-start" else "called"
    inner = Builder(b.names.unique(name), b.names)
    kind, wanted = draw(numbers), draw(dims())
    x, y = (inner.parameter(array(kind, wanted), "async_param") for _ in range(2))
    inner.add("add", x, y)
    operands = given(b, kind, *wanted), given(b, kind, *wanted)
    attrs = {"kind": "kLoop"} if opcode == "fusion" else {}
    shape = tuple_of(tuple_of(*(o.shape for o in operands)), operands[0].shape, array(U32))
    shape = shape if opcode == "async-start" else None
    return b.add(opcode, *operands, shape=shape, called=[inner.build()], **attrs)


@op("async-update", "async-done")
def continued(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    return b.add(opcode, called(draw, b, "async-start"))


@op("conditional")
def conditional(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    shape = array(draw(element_types), draw(dims()))
    count = draw(st.integers(1, 3))
    by_pred = count == 2 and draw(st.booleans())
    index = given(b, PRED if by_pred else S32)
    arguments = [b.parameter(shape) for _ in range(count)]
    branches = [same(b, shape) for _ in range(count)]
    return b.add("conditional", index, *arguments, called=branches)


@op("while")
def loop(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    shape = tuple_of(array(S32), array(draw(element_types), draw(dims())))
    condition = Builder(b.names.unique("condition"), b.names)
    counter = condition.add("get-tuple-element", condition.parameter(shape), index=0)
    condition.add("compare", counter, integer(condition, draw(st.integers(0, 3))), direction="LT")
    body = Builder(b.names.unique("body"), b.names)
    state = body.parameter(shape)
    counter, kept = (body.add("get-tuple-element", state, index=i) for i in range(2))
    body.add("tuple", body.add("add", counter, integer(body, 1)), kept)
    start = b.add("tuple", integer(b, 0), b.parameter(shape.elements[1]))
    return b.add("while", start, called=[condition.build(), body.build()])


@op("custom-call")
def custom_call(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    shape = array(F32, draw(dims()))
    return b.add("custom-call", b.parameter(shape), shape=shape, custom_call_target="target")


@op("get-dimension-size", "set-dimension-size")
def dimension_size(draw: st.DrawFn, b: Builder, opcode: str) -> Instruction:
    wanted = draw(dims(min_rank=1))
    along = draw(st.integers(0, len(wanted) - 1))
    operand = given(b, draw(element_types), *wanted)
    if opcode == "get-dimension-size":
        return b.add(opcode, operand, dimensions=(along,))
    size = integer(b, draw(st.integers(0, wanted[along])))
    return b.add(opcode, operand, size, dimensions=(along,))


@op("dynamic-reshape")
def dynamic_reshape(draw: st.DrawFn, b: Builder, _: str) -> Instruction:
    n, m = draw(sizes), draw(sizes)
    shape = array(F32, (m, n), (True, False))
    operands = given(b, F32, n, m), integer(b, m), integer(b, n)
    return b.add("dynamic-reshape", *operands, shape=shape)


# ------------------------------------------------------------------ devices and the host


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
