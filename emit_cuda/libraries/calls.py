"""Library calls: products of matrices with an epilogue, and Fourier transforms.

    fused { d = dot(x, w)  b = broadcast(bias)  a = add(d, b)  ROOT r = maximum(a, zeros) }
        =>  LibraryGemm(batch=1, rows, columns, depth, ..., bias=True, relu=True) of x, w, bias

References
----------
XLA, `xla/service/gpu/transforms/gemm_rewriter.cc` and `xla/backends/gpu/runtime/fft_thunk.cc`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, cast

from hlo import attributes as a
from optimizer.libraries.library import GPU, configuration
from optimizer.rewriting.make import value_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo.instruction import Instruction

# Operands and results that cuBLASLt takes together.
_TYPES = {
    ("f32", "f32"), ("f64", "f64"), ("f16", "f16"), ("bf16", "bf16"), ("f16", "f32"),
    ("bf16", "f32"),
}  # fmt: skip
_CONFIGURATION = configuration(GPU.kinds["dot"])


@dataclass(frozen=True, slots=True)
class LibraryGemm:
    """`relu(alpha * left @ right + bias)`, of which bias and relu may be missing.

    Attributes
    ----------
    operands, result : element types.
    batch : so many products, whose matrices lie one after the other.
    deep_last : of each operand, whether the contraction is along its last dimension.
    bias : a row is added to all rows; its address follows those of the operands.
    """

    operands: str
    result: str
    batch: int
    rows: int
    columns: int
    depth: int
    deep_last: tuple[bool, bool]
    alpha: float = 1.0
    bias: bool = False
    relu: bool = False


@dataclass(frozen=True, slots=True)
class LibraryFft:
    """Fourier transforms of the last dimensions, which are not divided by their lengths.

    Attributes
    ----------
    kind : as HLO has it: FFT, IFFT, RFFT or IRFFT.
    double : whether numbers have 64 bits.
    batch : so many transforms.
    """

    kind: str
    double: bool
    batch: int
    lengths: tuple[int, ...]


LibraryFunction = LibraryGemm | LibraryFft


def gemm_of(instr: Instruction) -> tuple[LibraryGemm, tuple[Instruction, ...]] | None:
    """The product that a fusion of `gemm-rewriter` is, and its operands; None for all others."""
    if instr.opcode != "fusion" or instr.annotations.backend_config != _CONFIGURATION:
        return None
    called = instr.called[0]
    arguments = dict(zip(called.parameters, instr.operands, strict=True))
    node, relu, bias, alpha = called.root, False, None, 1.0
    if node.opcode == "maximum" and value_of(node.operands[1]) == 0:
        node, relu = node.operands[0], True
    if node.opcode == "add" and (bias := _row(node.operands[1])) is not None:
        node = node.operands[0]
    if node.opcode == "multiply" and (factor := value_of(node.operands[1])) is not None:
        node, alpha = node.operands[0], float(factor)
    gemm = _plain(node) if node.opcode == "dot" else None
    operands = (*node.operands, *([bias] if bias is not None else []))
    if gemm is None or any(each not in arguments for each in operands):
        return None
    if bias is not None and (gemm.batch > 1 or bias.shape.dims != (gemm.columns,)):
        return None
    call = replace(gemm, alpha=alpha, bias=bias is not None, relu=relu)
    return call, tuple(arguments[each] for each in operands)


def _row(operand: Instruction) -> Instruction | None:
    """The array that is spread over all rows; None where an operand is something else."""
    if operand.opcode != "broadcast":
        return None
    attrs = a.Dimensions.of(operand)
    return operand.operands[0] if attrs.dimensions == (operand.shape.rank - 1,) else None


def _plain(dot: Instruction) -> LibraryGemm | None:
    """A product whose matrices lie in memory as the library takes them."""
    attrs = a.DotDims.of(dot)
    left, right = (o.shape for o in dot.operands)
    types = left.element_type.name, dot.shape.element_type.name
    if types not in _TYPES or left.element_type is not right.element_type:
        return None
    batches = tuple(range(len(attrs.lhs_batch_dims)))
    if attrs.lhs_batch_dims != batches or attrs.rhs_batch_dims != batches:
        return None
    orders = [
        _deep_last(shape.rank, len(batches), contracting)
        for shape, contracting in (
            (left, attrs.lhs_contracting_dims),
            (right, attrs.rhs_contracting_dims),
        )
    ]
    if None in orders:
        return None
    batch = prod(left.dims[: len(batches)])
    depth = prod(left.dims[d] for d in attrs.lhs_contracting_dims)
    rows, columns = (s.size // max(batch * depth, 1) for s in (left, right))
    if 0 in (batch, depth, rows, columns):
        return None
    return LibraryGemm(
        *types, batch, rows, columns, depth, cast("tuple[bool, bool]", tuple(orders))
    )


def _deep_last(rank: int, batches: int, contracting: Sequence[int]) -> bool | None:
    """Whether the contraction is along the last dimensions; None if not along the first either."""
    if tuple(contracting) == tuple(range(rank - len(contracting), rank)):
        return True
    first = tuple(range(batches, batches + len(contracting)))
    return False if tuple(contracting) == first else None


def fft_of(instr: Instruction) -> LibraryFft | None:
    """The transform that an instruction is; None for all others."""
    if instr.opcode != "fft":
        return None
    attrs, operand = a.Fft.of(instr), instr.operands[0].shape
    lengths = attrs.fft_length
    if operand.size == 0 or instr.shape.size == 0 or len(lengths) > 3:
        return None
    double = operand.element_type.name in ("f64", "c128")
    batch = prod(operand.dims[: operand.rank - len(lengths)])
    return LibraryFft(attrs.fft_type, double, batch, tuple(lengths))
