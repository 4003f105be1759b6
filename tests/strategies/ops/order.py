"""Generators of opcodes that sort, scan, factorize or draw random numbers."""

from hypothesis import strategies as st
from strategies.ops.registry import folding, given, numbers, op
from strategies.values import dims, sizes

from hlo.build import Builder
from hlo.instruction import Instruction
from hlo.types.element_type import C64, F32, S32, U32, U64
from hlo.types.shape import array, tuple_of


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
    return b.add(opcode, *operands, epsilon=0.125, feature_index=feature)


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
