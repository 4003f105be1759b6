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
from typing import TYPE_CHECKING

from codegen.opcodes.operands import operands_of
from hlo import attributes as a
from optimizer.libraries.library import GPU, configuration
from optimizer.rewriting.make import value_of

if TYPE_CHECKING:
    from codegen.opcodes.operands import Operand
    from hlo.instruction import Instruction

# Operands and results that cuBLASLt takes together.
_TYPES = {
    ("f32", "f32"), ("f64", "f64"), ("f16", "f16"), ("bf16", "bf16"), ("f16", "f32"),
    ("bf16", "f32"), *GPU.plain,
}  # fmt: skip
# Bytes of which rows of s8 are a multiple, and numbers of which rows of their products are.
_BYTES, _WORDS = 16, 4
_CONFIGURATION = configuration(GPU.kinds["dot"])


@dataclass(frozen=True, slots=True)
class LibraryGemm:
    """`relu(alpha * left @ right + bias)`, of which bias and relu may be missing.

    Attributes
    ----------
    operands, result : element types.
    batch : so many products, whose matrices lie one after the other.
    contracted_last : of each operand, whether the contraction is along its last dimension.
    bias : a row is added to all rows; its address follows those of the operands.
    """

    operands: str
    result: str
    batch: int
    rows: int
    columns: int
    depth: int
    contracted_last: tuple[bool, bool]
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
    if gemm is None or any(operand not in arguments for operand in operands):
        return None
    if bias is not None and (gemm.batch > 1 or bias.shape.dims != (gemm.columns,)):
        return None
    call = replace(gemm, alpha=alpha, bias=bias is not None, relu=relu)
    if call != gemm and (gemm.operands, gemm.result) in GPU.plain:
        return None
    return call, tuple(arguments[operand] for operand in operands)


def _row(operand: Instruction) -> Instruction | None:
    """The array that is spread over all rows; None where an operand is something else."""
    if operand.opcode != "broadcast":
        return None
    attrs = a.Dimensions.of(operand)
    return operand.operands[0] if attrs.dimensions == (operand.shape.rank - 1,) else None


def _plain(dot: Instruction) -> LibraryGemm | None:
    """A product whose matrices lie in memory as the library takes them."""
    kinds = [o.shape.element_type for o in (*dot.operands, dot)]
    types = kinds[0].name, kinds[2].name
    if types not in _TYPES or kinds[0] is not kinds[1]:
        return None
    left, right = operands_of(dot)
    orders = _contracted_last(left), _contracted_last(right)
    sizes = prod(left.sizes(left.batch)), left.count, right.count, left.depth
    if orders[0] is None or orders[1] is None or 0 in sizes:
        return None
    if types[0] == "s8" and not (all(orders) and _are_whole(*sizes[1:])):
        return None
    return LibraryGemm(*types, *sizes, (orders[0], orders[1]))


def _are_whole(rows: int, columns: int, depth: int) -> bool:
    """Whether the library multiplies matrices of s8 of such sizes."""
    return not (depth % _BYTES or rows % _WORDS or columns % _WORDS)


def _contracted_last(operand: Operand) -> bool | None:
    """Whether the contraction is along the last dimensions, or the first after the batch; or None.

    Free dimensions lie together in order then, so that each matrix has rows and columns.
    """
    batch, free, contracted = operand.batch, operand.free, operand.contracting
    in_order = tuple(range(operand.instr.shape.rank))
    if (*batch, *free, *contracted) == in_order:
        return True
    return False if (*batch, *contracted, *free) == in_order else None


def fft_of(instr: Instruction) -> LibraryFft | None:
    """The transform that an instruction is; None for all others."""
    if instr.opcode != "fft":
        return None
    attrs, operand = a.Fft.of(instr), instr.operands[0].shape
    lengths = attrs.fft_length
    if 0 in (operand.size, instr.shape.size, *lengths) or len(lengths) > 3:
        return None
    double = operand.element_type.name in ("f64", "c128")
    batch = prod(operand.dims[: operand.rank - len(lengths)])
    return LibraryFft(attrs.fft_type, double, batch, tuple(lengths))
