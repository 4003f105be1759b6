"""Products of matrices in tiles: a block of threads shares what it reads of both, and then stores.

Each block computes a tile of the result, from a strip of tiles of the left operand and one of the
right one, which its threads bring into shared memory, tile after tile. Each thread adds up several
products of its own, in the order of the contraction, so that sums are those of a plain loop. What
is done to the product elementwise (the *epilogue*) is done before it is stored. A convolution is
a product of matrices, too: see `emit_cuda.kernels.products`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.elements.table import Scalar
from codegen.elements.types import literal, wide
from codegen.expressions import (
    NEVER,
    Choose,
    Expr,
    Group,
    Literal,
    Name,
    binary,
    conjoined,
    item,
    spelled_out,
)
from codegen.indexing import Sum, counter, linear
from codegen.opcodes.scalar import expression
from codegen.statements import For
from emit_cuda.kernels.folding import BARRIER, when
from emit_cuda.kernels.products import PRODUCTS
from emit_cuda.kernels.stages import Stage
from emit_cuda.table import emits_cuda

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.kernel import Kernel
    from emit_cuda.kernels.products import Product
    from hlo.instruction import Instruction

# Threads along each side of a block, and elements of the contraction that a tile has.
SIDE, DEEP = 16, 16
# How many rows and columns each thread has in large products, and from what size on.
EACH, LARGE = 4, 128
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
    with kernel.body.block() as statements:
        made = _Tiles(product).write(outputs[0], root or dot)
    kind = "product" if dot.opcode == "dot" else "convolution"
    return replace(made, statements=tuple(statements), kind=kind)


class _Tiles:
    """Writes the kernel of a product."""

    def __init__(self, product: Product) -> None:
        self.product, self.body = product, product.body
        large = min(product.rows, product.columns) >= LARGE
        self.each = EACH if large else 1
        self.width = SIDE * self.each
        self.kind = wide(product.type)
        self.zero = literal(product.type, product.type.dtype.type(0))
        # A row is one longer, so that threads that write columns ask different banks.
        self.pitch = self.width + 1

    def write(self, output: Name, root: Instruction) -> Stage:
        """All statements."""
        body, product, each = self.body, self.product, self.each
        down, across = (-(-n // self.width) for n in (product.rows, product.columns))
        block = body.let("s64", "block", Name("blockIdx.x"))
        batch = Sum(0)
        if product.batch > 1:
            name = body.let("s64", "batch", Name("blockIdx.x") / (down * across))
            batch = counter(name.name, product.batch)
            block = body.let("s64", "tile", block % (down * across))
        self.first = (
            body.let("s64", "first_row", Group(block / across) * self.width),
            body.let("s64", "first_column", Group(block % across) * self.width),
        )
        self.x = body.let("s64", "x", Name("threadIdx.x") % SIDE)
        self.y = body.let("s64", "y", Name("threadIdx.x") / SIDE)
        self.tiles = [Name(body.name("left")), Name(body.name("right"))]
        self.present = Name(body.name("present")) if product.has_holes else None
        sums = body.variable(self.kind, "sums", size=each * each)
        with body.loops(["s"], [each * each]) as (s,):
            body.assign(item(sums, s), self.zero)
        deep = body.name("deep")
        with body.block() as strip:
            for side in range(2):
                self._bring(side, batch, Name(deep))
            body.add(BARRIER)
            self._multiply(sums)
            body.add(BARRIER)
        body.add(For(deep, product.depth, tuple(strip), step=DEEP))
        self._put(sums, batch, output, root)
        shared = tuple((self.kind, t.name, DEEP * self.pitch) for t in self.tiles)
        if self.present:
            shared += (("pred", self.present.name, DEEP * self.pitch),)
        return Stage((), (product.batch * down * across, 1, 1), (SIDE * SIDE, 1, 1), shared)

    def _bring(self, side: int, batch: Sum, deep: Name) -> None:
        """Bring a tile of an operand into shared memory; what lies outside of it is zero."""
        body, product = self.body, self.product
        size = (product.rows, product.columns)[side]
        fast = DEEP if product.is_deep_last(side) else self.width
        with body.loops(["e"], [self.each]) as (e,):
            number = body.let("s64", "number", _added(Name("threadIdx.x"), e * (SIDE * SIDE)))
            quick, slow = Group(number % fast), Group(number / fast)
            k, m = (quick, slow) if product.is_deep_last(side) else (slow, quick)
            at_deep = body.let("s64", "k", deep + k)
            at_free = body.let("s64", "row" if side == 0 else "column", self.first[side] + m)
            value = body.variable(self.kind, "value", self.zero)
            present = self.present if side == 0 else None
            there = body.variable("pred", "there", 0) if present else None
            conditions = [
                binary("<", at, n)
                for at, n, step in ((at_deep, product.depth, DEEP), (at_free, size, self.width))
                if n % step
            ]
            with body.when(conjoined(conditions) if conditions else None):
                free, depth = counter(at_free.name, size), counter(at_deep.name, product.depth)
                condition, index = product.operand(side, batch, free, depth)
                if condition != NEVER:
                    with body.when(condition):
                        body.assign(value, product.element(side, index))
                        if there:
                            body.assign(there, 1)
            body.assign(item(self.tiles[side], k * self.pitch + m), value)
            if present and there:
                body.assign(item(present, k * self.pitch + m), there)

    def _multiply(self, sums: Name) -> None:
        """Add the products of two tiles."""
        body, each = self.body, self.each
        left, right = self.tiles
        with body.loops(["k"], [DEEP]) as (k,):
            row = body.let("s64", "at", _added(Literal(0), k * self.pitch))
            with body.loops(["m", "n"], [each, each]) as (m, n):
                x = item(left, _added(row + self.y, m * SIDE))
                y = item(right, _added(row + self.x, n * SIDE))
                given = [body.let(self.kind, "factor", factor) for factor in (x, y)]
                kind, total = self.product.type, item(sums, m * each + n)
                times = expression("multiply", kind, *given, wraps=False)
                assert times is not None
                product = body.let(self.kind, "product", times)
                made = expression("add", kind, total, product, wraps=False)
                assert made is not None
                if self.present:
                    # What is no element adds nothing, not even to an infinity.
                    here = item(self.present, _added(row + self.y, m * SIDE))
                    made = Choose(here, made, total)
                body.assign(total, made)

    def _put(self, sums: Name, batch: Sum, output: Name, root: Instruction) -> None:
        """Store the sums, after what is done to them."""
        body, product, each = self.body, self.product, self.each
        with body.loops(["m", "n"], [each, each]) as (m, n):
            row = body.let("s64", "row", _added(self.first[0] + self.y, m * SIDE))
            column = body.let("s64", "column", _added(self.first[1] + self.x, n * SIDE))
            conditions = [
                binary("<", at, size)
                for at, size in ((row, product.rows), (column, product.columns))
                if size % self.width
            ]
            with body.block() as stored:
                at = product.index(
                    batch, counter(row.name, product.rows), counter(column.name, product.columns)
                )
                total = body.let(self.kind, "sum", item(sums, m * each + n))
                made = product.result(total)
                kind = wide(product.dot.shape.element_type)
                value = body.let(kind, product.dot.name, made)
                before = body.environment.scalars.get(product.dot)
                body.environment.scalars[product.dot] = (value,)
                number = linear(at, root.shape.dims)
                element = body.element(root, at)
                stored_as = body.stored(root.shape.element_type, element)
                body.assign(item(output, number), stored_as)
                if before is None:
                    del body.environment.scalars[product.dot]
            if conditions:
                when(body, conjoined(conditions), stored)
            else:
                body.add(*stored)


def _added(value: Expr, more: Sum) -> Expr:
    """A number and a multiple of a loop's counter."""
    if more == Sum(0):
        return value
    if value == Literal(0):
        return spelled_out(more)
    return spelled_out(more, value)


def epilogue_of(root: Instruction) -> Instruction | None:
    """The only product that a fusion's root is an elementwise function of; or None."""
    dots = set[int]()
    found: Instruction | None = None
    stack, seen = [root], {root}
    while stack:
        instr = stack.pop()
        if instr.opcode in PRODUCTS:
            dots.add(id(instr))
            found = instr
            continue
        for operand in instr.operands:
            if operand not in seen:
                seen.add(operand)
                stack.append(operand)
    if found is None or len(dots) != 1 or root is found:
        return None
    return found if _only_elementwise(root, found) else None


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
