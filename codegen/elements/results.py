"""Elements of several results, which are computed together, and stored after all are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codegen.expressions import item
from codegen.statements import live
from optimizer.analysis.indexing import delinear, linear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Name
    from codegen.statements import Statement
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from optimizer.analysis.indexing import Index

    # Instructions, each with the kernel's pointers to the arrays of its value; None for an array
    # that lies there already.
    Results = Sequence[tuple[Instruction, Sequence[Name | None]]]


def stored_elements(body: Body, results: Results, index: Index) -> tuple[Statement, ...]:
    """The statements that compute and store one element of each result.

    Parameters
    ----------
    results : those of other dimensions than the first have their elements in the same row-major
        order.
    index : in the first result.
    """
    shape = results[0][0].shape.first_leaf
    with body.block() as statements:
        computed = [
            body.elements(instr, renumbered(index, shape, instr.shape.first_leaf))
            for instr, _ in results
        ]
        number = linear(index, shape.dims)
        for (instr, pointers), values in zip(results, computed, strict=True):
            leaves = [s for _, s in instr.shape.leaves() if s.is_array]
            for leaf, pointer, value in zip(leaves, pointers, values, strict=True):
                if pointer is not None:
                    stored = body.stored(leaf.element_type, value)
                    body.assign(item(pointer, number), stored)
    return live(statements)


def renumbered(index: Index, shape: Shape, wanted: Shape) -> Index:
    """The index, in one shape, of the element that has an index in another one."""
    if shape.dims == wanted.dims or len(index) != shape.rank:
        return index
    return delinear(linear(index, shape.dims), wanted.dims)
