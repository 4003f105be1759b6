"""Results in other layouts than row-major: views of arrays that are.

Compiled code knows only row-major arrays. A module whose entry layout asks for another order ends
with bitcasts from the order in memory to that of the dimensions. For NumPy such a bitcast is a
view, as `x.T` is, so it need not be compiled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from hlo.types.shape import tuple_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hlo.attributes import GetTupleElement
    from hlo.instruction import Computation, Instruction, Module


@dataclass(frozen=True, slots=True)
class StridedView:
    """An array seen in another order.

    Attributes
    ----------
    sizes : of the dimensions as they lie in memory.
    axes : where each dimension of the view is among them.
    """

    sizes: tuple[int, ...]
    axes: tuple[int, ...]

    def of(self, array: NDArray[Any]) -> NDArray[Any]:
        """The view of an array that has the view's elements in the order of memory."""
        return array.reshape(self.sizes).transpose(self.axes)


def without_last_bitcasts(module: Module) -> tuple[Module, Mapping[int, StridedView]]:
    """A module that leaves out the bitcasts to other layouts that it would end with.

    Returns
    -------
    tuple
        the module, and by its number among the results how each of them is to be seen. A module
        with one array as its result has the number 0.
    """
    root = _named(module.entry.root)
    results = root.operands if root.opcode == "tuple" else (root,)
    views = {k: _view(r) for k, r in enumerate(results) if _is_view(r)}
    if not views:
        return module, views
    sources = tuple(r.operands[0] if k in views else r for k, r in enumerate(results))
    last = sources[0]
    if root.opcode == "tuple":
        last = replace(root, operands=sources, shape=tuple_of(*(s.shape for s in sources)))
    entry = _ending_with(module.entry, last)
    computations = tuple(entry if c is module.entry else c for c in module.computations)
    header = module.header
    if header.entry_computation_layout is not None:
        layout = replace(header.entry_computation_layout, result=last.shape)
        header = replace(header, entry_computation_layout=layout)
    return replace(module, header=header, computations=computations, entry=entry), views


def _named(root: Instruction) -> Instruction:
    """The element of a tuple that a root takes out of the tuple again, or the root itself.

    One that has a sharding is not simplified away.
    """
    while root.opcode == "get-tuple-element" and root.operands[0].opcode == "tuple":
        root = root.operands[0].operands[cast("GetTupleElement", root.attrs).index]
    return root


def _is_view(instr: Instruction) -> bool:
    """Whether a value is a row-major array, or seems one, in another layout."""
    if instr.opcode != "bitcast":
        return False
    source, target = instr.operands[0].shape, instr.shape
    same = source.element_type is target.element_type
    return same and source.is_row_major and not target.is_row_major


def _view(bitcast: Instruction) -> StridedView:
    order = bitcast.shape.memory_order
    dims = bitcast.shape.dims
    return StridedView(tuple(dims[d] for d in order), tuple(map(order.index, range(len(dims)))))


def _ending_with(entry: Computation, last: Instruction) -> Computation:
    """A computation with another root, without the bitcasts that only the old one needed."""
    used = {o for i in entry.instructions if i is not entry.root for o in i.operands}
    last_ones = (entry.root, *(o for o in entry.root.operands if _is_view(o)))
    dropped = {i for i in last_ones if i not in used}
    kept = [i for i in entry.instructions if i not in dropped]
    if last not in kept:
        kept.append(last)
    return replace(entry, instructions=tuple(kept), root=last)
