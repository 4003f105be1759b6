"""Sorts, batches of matrices and of transforms, random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo.build import Builder
from hlo.types.element_type import C64, F32, S8, S32, U8, U32, U64
from hlo.types.shape import array, tuple_of
from tests.divisible.maker import FEW, Maker, makes

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@makes("sort")
def _sort(m: Maker, opcode: str) -> Instruction:
    kinds = [m.kind(S8, S32, F32) for _ in range(m.random.choice((1, 1, 2)))]
    dims = m.dims(1)
    called = [m.compared(m.random.choice(("LT", "GT")), *kinds)]
    attrs: dict[str, Any] = {"dimensions": (m.random.randrange(len(dims)),), "is_stable": True}
    return m.b.add(opcode, *(m.given(k, *dims) for k in kinds), called=called, **attrs)


@makes("topk")
def _topk(m: Maker, opcode: str) -> Instruction:
    operand = m.given(m.kind(S32, F32), *m.dims(1))
    k = m.random.randint(0, operand.shape.dims[-1])
    return m.b.add(opcode, operand, k=k, largest=m.chance())


@makes("scan")
def _scan(m: Maker, opcode: str) -> Instruction:
    dims = m.dims(1)
    along = m.random.randrange(len(dims))
    rest = array(F32, (*dims[:along], *dims[along + 1 :]))
    inner = Builder(m.b.names.unique("step"), m.b.names)
    total = inner.add("add", inner.parameter(rest), inner.parameter(rest))
    step = inner.build(inner.add("tuple", total, total))
    operands = m.given(F32, *dims), m.given(F32, *rest.dims)
    attrs: dict[str, Any] = {"dimensions": (along,), "num_carries": 1, "is_reverse": m.chance()}
    return m.b.add(opcode, *operands, called=[step], **attrs)


@makes("batch-norm-training", "batch-norm-inference", "batch-norm-grad")
def _batch_norm(m: Maker, opcode: str) -> Instruction:
    dims = m.dims(1)
    feature = m.random.randrange(len(dims))
    vectors = {"batch-norm-training": 2, "batch-norm-inference": 4, "batch-norm-grad": 3}[opcode]
    operands = [m.given(F32, *dims), *(m.given(F32, dims[feature]) for _ in range(vectors))]
    operands += [m.given(F32, *dims)] if opcode == "batch-norm-grad" else []
    return m.b.add(opcode, *operands, epsilon=0.125, feature_index=feature)


@makes("cholesky", "triangular-solve")
def _matrices(m: Maker, opcode: str) -> Instruction:
    lead, n, lower = m.dims(0, 2), m.random.choice(FEW), m.chance()
    matrix = m.given(F32, *lead, n, n)
    if opcode == "cholesky":
        return m.b.add(opcode, matrix, lower=lower)
    left, other = m.chance(), m.random.choice(FEW)
    transpose = m.random.choice(("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"))
    return m.b.add(
        opcode, matrix, m.given(F32, *lead, *((n, other) if left else (other, n))),
        left_side=left, lower=lower, unit_diagonal=m.chance(), transpose_a=transpose,
    )  # fmt: skip


@makes("fft")
def _fft(m: Maker, opcode: str) -> Instruction:
    kind, lead, along = (
        m.random.choice(("FFT", "IFFT", "RFFT", "IRFFT")),
        m.dims(0, 2),
        m.dims(1, 2),
    )
    last = along[-1] // 2 + 1 if kind == "IRFFT" else along[-1]
    operand = m.given(F32 if kind == "RFFT" else C64, *lead, *along[:-1], last)
    return m.b.add(opcode, operand, fft_type=kind, fft_length=along)


@makes("rng-bit-generator")
def _random_bits(m: Maker, opcode: str) -> Instruction:
    algorithm = m.random.choice(("rng_three_fry", "rng_philox"))
    shape = tuple_of(array(U64, (2,)), array(m.kind(U8, U32, U64), m.dims()))
    return m.b.add(opcode, m.given(U64, 2), shape=shape, algorithm=algorithm)
