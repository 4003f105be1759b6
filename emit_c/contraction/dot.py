"""Whole dot products, in register tiles.

A dot product is a contraction whose input is one operand and whose kernel is the other. Which is
which depends on what is laid across vector lanes: the kernel's free dimensions, if possible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import Cast, Expr, Name
from codegen.kinds import Pointer
from codegen.opcodes.operands import operands_of
from codegen.opcodes.products import product_type
from emit_c.code import processor
from emit_c.contraction.few_rows import write_few_rows
from emit_c.contraction.pairs import LEAST_DEPTH, FloatPairs, have_pairs
from emit_c.contraction.product import TiledProduct
from emit_c.contraction.quads import Quads, have_quads
from emit_c.contraction.scratch import Scratch, summed
from emit_c.contraction.tiling import LEAST_SHARE, Pointers
from emit_c.table import define_whole
from hlo.types.element_type import F32, S16, S32, U16, U32
from hlo.types.limits import integer_range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from hlo.instruction import Instruction
    from hlo.types.element_type import ElementType

# f32 has all whole numbers up to here.
EXACT = 1 << 24
_WIDER = S16, S32, U16, U32


def write_whole_dot(body: Body, instr: Instruction, outputs: Sequence[Name]) -> int | None:
    """Loops over tiles, for the order of operands that uses more of the processor."""
    kind = product_type(instr)
    few = any(o.shape.size == 0 or o.shape.rank == 0 for o in instr.operands)
    if few or kind.kind == "pred" or (kind.is_complex and instr.shape.element_type is not kind):
        return None
    if write_few_rows(body, instr, outputs[0], kind):
        return 0
    # Sums of fewer bits are the last bits of wider ones, of which fewer fill a vector.
    wider = (t for t in _WIDER if kind.is_integer and t.kind == kind.kind and t.bits > kind.bits)
    kinds = [kind, *wider]
    product = next((m for k in kinds if _is_worth_it(m := _product(body, instr, k))), None)
    if product is None:
        return None
    scratch, tiling, kind = Scratch(body), product.tiling, product.kind
    if product.copied:
        pointer: Expr = scratch.array(kind, "copy", product.copy_size)
        product.copy(body, pointer)
    else:
        pointer = Cast(Pointer(kind.name, const=True), body.pointer(product.input.instr))
    packed = product.kernel_at_hand()
    number = None if packed else product.number
    if not packed and tiling.cached:
        packed = scratch.array(kind, "packed", tiling.packed_size)
    if product.parts > 1:
        pointers = Pointers(pointer, packed, Cast(Pointer(kind.name), outputs[0]), kind)
        tiling.write(body, pointers, number)
        return scratch.bytes
    with summed(body, instr, outputs[0], scratch, kind, [tiling]) as (target, output):
        tiling.write(body, Pointers(pointer, packed, output, target), number)
    return scratch.bytes


def _is_worth_it(product: TiledProduct) -> bool:
    return product.tiling.share >= LEAST_SHARE


def _product(body: Body, instr: Instruction, kind: ElementType) -> TiledProduct:
    """The order of operands that uses more of the processor."""
    orders = (False, True)
    here = processor.here()
    quads, pairs = have_quads(instr), have_pairs(body, instr)
    if quads or pairs:
        product_class, registers = (
            (Quads, here.whole_tiles) if quads else (FloatPairs, here.whole_pairs)
        )
        for whole in (True, False) if registers else (False,):
            joined = [product_class(body, instr, swapped=s, whole=whole) for s in orders]
            if fit := [product for product in joined if product.is_possible]:
                return max(fit, key=_share)
    # Sums that are wider than the result wrap around when they become it, which floats do not.
    exact = _exact_products(instr) if kind is S32 is product_type(instr) else None
    kind = F32 if exact else kind
    both = [TiledProduct(body, instr, kind, exact, swapped=s) for s in orders]
    return max(both, key=lambda product: product.share_with_packing)


def _share(product: TiledProduct) -> float:
    return product.tiling.share


def _exact_products(instr: Instruction) -> int | None:
    """The number of products of the operands' integers that f32 adds up exactly, if it is many.

    Vectors of f32 are multiplied twice as fast as those of integers.
    """
    most = 1
    for operand in instr.operands:
        low, high = integer_range(operand.shape.element_type)
        most *= max(-low, high)
    left, _ = operands_of(instr)
    count, (first, *_) = EXACT // most, (*left.sizes(left.contracting), 1)
    rest = left.depth // first
    # The outermost steps must be cut into equal parts of many products.
    parts = (n * rest for n in range(1, count // rest + 1) if first % n == 0)
    return count if any(n == left.depth or n >= LEAST_DEPTH for n in parts) else None


define_whole("dot", write_whole_dot)
