"""Finds sorts of which only the first k elements are used, and makes them topk.

slice(sort(x, iota)[i]), [0:k]   =>   topk(x)[i]

The comparator must compare x with x, from the largest down, in total order if they are floats. XLA
makes custom calls of the name TopK, which are this opcode in its library's dress.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.types.element_type import S32
from hlo.types.values import SliceDim
from hlo.walk import names_of, users
from optimizer.expanders.op_expander import element
from optimizer.passes import register
from optimizer.rewriting.make import make
from optimizer.rewriting.sites import SiteRewrites, rewrite_sites

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module
    from hlo.names import NameSupply
    from optimizer.log import Log


@register
@dataclass(frozen=True)
class TopkRewriter:
    """Replaces sort and slice by topk."""

    name = "topk-rewriter"
    xla = "xla/service/topk_rewriter.cc"

    def run(self, module: Module, log: Log) -> Module:
        """The module in which no sort is there for its first elements alone."""
        names = names_of(module)

        def visit(computation: Computation, rewrites: SiteRewrites) -> None:
            if "sort" not in computation.opcodes:
                return
            used = users(computation)
            for instr in computation.instructions:
                slices = first_slices(instr, used, computation.root) if is_topk(instr) else []
                for old, new in replacements(instr, slices, names):
                    rewrites.add("topk_of_sort", old, new)

        return rewrite_sites(module, log, visit)


def is_topk(instr: Instruction) -> bool:
    """Whether a sort of x and an iota brings the largest elements of x to the front."""
    if instr.opcode != "sort" or len(instr.operands) != 2 or instr.control_predecessors:
        return False
    axis = a.Sort.of(instr).dimensions[0]
    values, indices = instr.operands
    if axis != values.shape.rank - 1 or indices.opcode != "iota" or values.shape.is_dynamic:
        return False
    counts = a.Iota.of(indices).iota_dimension == axis
    return counts and indices.shape.element_type is S32 and descends(instr.called[0])


def descends(comparator: Computation) -> bool:
    """Whether a comparator brings larger first operands to the front."""
    root, parameters = comparator.root, comparator.parameters
    if root.opcode != "compare" or root.operands != parameters[:2]:
        return False
    attrs, floating = a.Compare.of(root), parameters[0].shape.element_type.is_floating
    return attrs.direction == "GT" and (attrs.type == "TOTALORDER") == floating


def first_slices(
    sort: Instruction, used: dict[Instruction, list[Instruction]], root: Instruction
) -> list[Instruction]:
    """The slices of the first elements that are sorted; none if anything else is taken too."""
    parts = used[sort]
    if root in (sort, *parts) or any(part.opcode != "get-tuple-element" for part in parts):
        return []
    slices = [slice_ for part in parts for slice_ in used[part]]
    return slices if all(takes_first(slice_, sort) for slice_ in slices) else []


def takes_first(slice_: Instruction, sort: Instruction) -> bool:
    """Whether a slice takes the first elements of the last dimension, whole otherwise."""
    if slice_.opcode != "slice" or slice_.control_predecessors:
        return False
    dims = sort.operands[0].shape.dims
    *others, last = a.Slice.of(slice_).slice
    whole = all(s == SliceDim(0, n) for s, n in zip(others, dims, strict=False))
    return whole and (last.start, last.stride) == (0, 1)


def replacements(
    sort: Instruction, slices: list[Instruction], names: NameSupply
) -> list[tuple[Instruction, Instruction]]:
    """Slices of the sort, and the elements of a topk that take their place."""
    sizes = {part.shape.dims[-1] for part in slices}
    if len(sizes) != 1:
        return []
    origin = sort.annotations.inherited()
    top = make("topk", sort.operands[0], k=sizes.pop(), largest=True)
    top = top.with_(name=names.unique("topk"), annotations=origin, span=sort.span)
    pairs: list[tuple[Instruction, Instruction]] = []
    for old in slices:
        index = a.GetTupleElement.of(old.operands[0]).index
        new = element(top, index).with_(
            name=names.unique("get-tuple-element"), annotations=old.annotations, span=old.span
        )
        pairs.append((old, new))
    return pairs
