"""The cut of each array of a module, from those that the program says.

Cuts go from operands to results and back, along the factors of `sharding_rules`, to a fixed point:
first through instructions that only pass elements on, then through all. What the program says stays
as it is, but for dimensions that it leaves open (`{?}`). Where two operands disagree, the larger
array decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hlo.attributes import CustomCall
from hlo.opcode import COMPILE_TIME
from hlo.sharded import CUTS
from optimizer.partitioning.cuts import ArrayCut, CutAxis, combined, rest, whole
from optimizer.partitioning.reshapes import reshaped
from optimizer.partitioning.resharding import nested
from optimizer.partitioning.sharding_rules import PERMUTATION, REPLICATION
from optimizer.partitioning.summands import gives_summands, linear_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo.instruction import Instruction
    from optimizer.partitioning.flow import Flow, Link, Node
    from optimizer.partitioning.sharding_rules import Factor

# Instructions that compute, through which cuts go late.
_LATE = frozenset({
    "convolution", "dot", "dynamic-slice", "gather", "reduce-window", "scatter",
    "select-and-scatter", "sort",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wish:
    """A sharding that a program asks for.

    Attributes
    ----------
    cut : of the array.
    open : the dimensions that may be cut further.
    """

    cut: ArrayCut
    open: frozenset[int] = frozenset()


def is_free(instr: Instruction) -> bool:
    """Whether each user of an array can make the part that it needs: numbers known beforehand."""
    if instr.opcode == "broadcast":
        return not instr.operands[0].shape.rank
    return instr.opcode == "constant" or instr.opcode in COMPILE_TIME


@dataclass
class Propagation:
    """The cuts of a module's nodes while they are being found.

    Attributes
    ----------
    cuts : of each node.
    because : for a node and dimension, the link and the node by which it is cut.
    has_summands : whether there are any.
    """

    flow: Flow
    wishes: Mapping[Node, Wish]
    cuts: dict[Node, ArrayCut] = field(default_factory=dict["Node", ArrayCut])
    because: dict[tuple[Node, int], tuple[Link, Node]] = field(
        default_factory=dict["tuple[Node, int]", "tuple[Link, Node]"]
    )
    has_summands: bool = False
    _alike: set[Node] = field(default_factory=set["Node"])

    def run(self) -> None:
        """Propagate to a fixed point."""
        self._alike.update(node for group in self.flow.alike.values() for node in group)
        for node, shape in self.flow.shapes.items():
            regions = self.flow.regions[node]
            cut = whole(shape.rank if shape.is_array else 0, regions)
            wish = self.wishes.get(node)
            if wish and (wished := replace(wish.cut, manual=regions)).is_possible:
                cut = wished
            self.cuts[node] = cut
        self.has_summands = any(cut.summed for cut in self.cuts.values())
        early = [link for link in self.flow.links if not _is_late(link)]
        for links in (early, self.flow.links):
            while self._sweep(links, forwards=True) | self._sweep(links[::-1], forwards=False):
                pass

    def _sweep(self, links: list[Link], *, forwards: bool) -> bool:
        changed = False
        for link in links:
            if link.instr in self.flow.borders:
                changed |= self._border(link, forwards=forwards)
            if link.instr is not None and link.instr.opcode == "reshape":
                changed |= self._reshape(link, forwards=forwards)
            changed |= self._summands(link, forwards=forwards)
            for factor in link.rule:
                # Who needs all of an operand gains nothing if it is cut.
                if forwards or factor.kind != REPLICATION:
                    changed |= self._factor(link, factor, forwards=forwards)
        return changed

    def _factor(self, link: Link, factor: Factor, *, forwards: bool) -> bool:
        """Let nodes that share a factor be cut as the one that is cut most."""
        sides = list(zip(link.operands, factor.operands, strict=True))
        operands = [
            (n, d) for n, d in sides if n is not None and d is not None and self.takes_part(n)
        ]
        results = [
            (n, d) for n, d in zip(link.results, factor.results, strict=True) if d is not None
        ]
        candidates = operands if forwards else [*results, *operands]
        taking = results if forwards else operands
        cut_dims = [(n, axis) for n, d in candidates if (axis := self.cuts[n].dims[d])]
        if not cut_dims or (factor.kind == PERMUTATION and not results):
            return False
        source, axis = max(cut_dims, key=lambda f: (f[1].count, self.flow.shapes[f[0]].bytes))
        if factor.limit and factor.limit % axis.count:
            return False
        changed = False
        for node, d in taking:
            if node != source and self._refine(node, d, axis):
                self.because[node, d] = (link, source)
                changed = True
        return changed

    def takes_part(self, node: Node) -> bool:
        """Whether an array is cut as others are: each user can make its part of a free one."""
        return node in self.wishes or node in self._alike or not is_free(node[0])

    def _refine(self, node: Node, dim: int, axis: CutAxis) -> bool:
        """Cut a dimension further, where that is left open."""
        cut, shape = self.cuts[node], self.flow.shapes[node]
        wish = self.wishes.get(node)
        if (wish and dim not in wish.open) or axis == cut.dims[dim]:
            return False
        if axis.count > shape.dims[dim] or not nested(axis, cut.dims[dim], shape.dims[dim]):
            return False
        finer = cut.with_dim(dim, axis)
        if finer.is_possible:
            self.cuts[node] = finer
        return finer.is_possible

    def _summands(self, link: Link, *, forwards: bool) -> bool:
        """Let linear instructions give the summands that they are given, or that are wanted."""
        if not self.has_summands or (not forwards and not gives_summands(link.instr)):
            return False
        sources: tuple[Node | None, ...] = link.results
        targets: tuple[Node | None, ...] = link.operands
        if forwards:
            sources, targets = link.operands, link.results
            if link.instr is not None:
                choices = [tuple(sources[n] for n in ns) for ns in linear_in(link.instr)]
                sources = next((s for s in choices if all(map(self._is_summand, s))), ())
        axes = {self.cuts[node].summed for node in sources if node}
        if len(axes) != 1 or not (axis := axes.pop()):
            return False
        changed = False
        for node in targets:
            if node is None or node in self.wishes or self.cuts[node].summed:
                continue
            cut = replace(self.cuts[node], summed=axis)
            if cut.is_possible and (forwards or not is_free(node[0])):
                self.cuts[node], changed = cut, True
        return changed

    def _is_summand(self, node: Node | None) -> bool:
        return node is not None and self.cuts[node].summed is not None

    def _reshape(self, link: Link, *, forwards: bool) -> bool:
        (operand,), (result,) = link.operands, link.results
        shapes = [self.flow.shapes[node] for node in (operand, result) if node]
        if operand is None or any(s.is_dynamic or not s.size for s in shapes):
            return False
        source, target = (operand, result) if forwards else (result, operand)
        if not self.takes_part(target):
            return False
        dims = self.flow.shapes[source].dims, self.flow.shapes[target].dims
        changed = False
        for d, axis in enumerate(reshaped(self.cuts[source], *dims).dims):
            if axis and self._refine(target, d, axis):
                self.because[target, d] = (link, source)
                changed = True
        return changed

    def _border(self, link: Link, *, forwards: bool) -> bool:
        """Outside of a region, a dimension is cut by its axis there, and then as inside."""
        assert link.instr
        begins = CustomCall.of(link.instr).custom_call_target in CUTS
        border, changed = self.flow.borders[link.instr], False
        for operand, result, cut in zip(link.operands, link.results, border.cuts, strict=True):
            if operand is None:
                continue
            source, target = (operand, result) if forwards else (result, operand)
            inwards = begins == forwards
            for d, here in enumerate(cut.dims):
                axis = self.cuts[source].dims[d]
                inner = rest(axis, here) if inwards else (axis,)
                around = axis if inwards else combined(here, axis)
                size = self.flow.shapes[source if inwards else target].dims[d]
                if not inner or not nested(around, here, size):
                    continue
                given_axis = inner[0] if inwards else around
                if given_axis and self._refine(target, d, given_axis):
                    self.because[target, d] = (link, source)
                    changed = True
        return changed


def _is_late(link: Link) -> bool:
    return link.instr is not None and link.instr.opcode in _LATE
