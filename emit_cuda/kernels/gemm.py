"""Products of matrices: the choice of a kernel, and the epilogue before the store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.elements.table import Scalar
from emit_cuda.kernels.products import PRODUCTS
from emit_cuda.kernels.tensor_cores import ON_TENSOR_CORES, TensorCores, fits
from emit_cuda.kernels.tiles import Tiles
from emit_cuda.table import emits_cuda

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.kernel import Kernel
    from codegen.expressions import Name
    from emit_cuda.kernels.stages import Stage
    from hlo.instruction import Instruction

# Smaller products are left to a thread for each element.
LEAST = 8


def gemm_stage(
    kernel: Kernel, dot: Instruction, outputs: Sequence[Name], root: Instruction | None = None
) -> Stage | None:
    """A launch that computes a product in tiles; None where it is too small for that.

    Parameters
    ----------
    dot : a dot product or a convolution.
    root : an elementwise function of the product, which is stored in its place.
    """
    product = PRODUCTS[dot.opcode](kernel.body, dot)
    if product.type.kind == "pred" or 0 in (product.batch, product.depth):
        return None
    if min(product.rows, product.columns, product.depth) < LEAST:
        return None
    on_tensor_cores = fits(product)
    with kernel.body.block() as statements:
        writer = (TensorCores if on_tensor_cores else Tiles)(kernel, product, root or dot)
        stage = writer.write(outputs[0])
    kind = "product" if dot.opcode == "dot" else "convolution"
    if on_tensor_cores:
        kind += ON_TENSOR_CORES
    return replace(stage, statements=tuple(statements), kind=kind)


def epilogue_of(root: Instruction) -> Instruction | None:
    """The only product that a fusion's root is an elementwise function of; or None."""
    dots = set[int]()
    epilogue: Instruction | None = None
    stack, seen = [root], {root}
    while stack:
        instr = stack.pop()
        if instr.opcode in PRODUCTS:
            dots.add(id(instr))
            epilogue = instr
            continue
        for operand in instr.operands:
            if operand not in seen:
                seen.add(operand)
                stack.append(operand)
    if epilogue is None or len(dots) != 1 or root is epilogue:
        return None
    return epilogue if _only_elementwise(root, epilogue) else None


def _only_elementwise(root: Instruction, dot: Instruction) -> bool:
    """Whether all ways from a root to a product keep its index."""
    depends: dict[Instruction, bool] = {dot: True}
    order: list[Instruction] = []
    stack = [root]
    while stack:
        instr = stack[-1]
        missing = [o for o in instr.operands if o not in depends]
        if missing and instr is not dot:
            stack += missing
            continue
        stack.pop()
        if instr not in depends:
            depends[instr] = any(depends[o] for o in instr.operands)
            order.append(instr)
    return all(_keeps_index(i, dot) for i in order if depends[i])


def _keeps_index(instr: Instruction, dot: Instruction) -> bool:
    scalar = isinstance(emits_cuda.get(instr.opcode), Scalar)
    return scalar and instr.shape.is_array and instr.shape.dims == dot.shape.dims
