"""Results in other layouts than row-major: views of arrays that are.

    n = f32[2,3]{1,0} negate(x)              =>    ROOT n = f32[2,3]{1,0} negate(x)
    ROOT b = f32[3,2]{0,1} bitcast(n)

Compiled code knows only row-major arrays. A module whose entry layout asks for another order ends
with bitcasts from the order in memory to that of the dimensions. For NumPy such a bitcast is a
view, as `x.T` is, so it need not be compiled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from hlo.types.shape import tuple_of
from optimizer.dynamic_padder.padding import is_dynamic
from optimizer.passes import register

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from hlo.attributes import GetTupleElement
    from hlo.instruction import Computation, Instruction, Module
    from optimizer.log import Log


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


def views_of(module: Module) -> Mapping[int, StridedView]:
    """The results that are views, by their numbers; that of an only array is 0."""
    if is_dynamic(module):
        return {}
    return {k: _view(r) for k, r in enumerate(_results(_named(module.entry.root))) if _is_view(r)}


@register
@dataclass(frozen=True)
class ResultViews:
    """Leaves out the bitcasts to other layouts that a module ends with.

    Who calls it sees its results in the orders of `views_of`. A module whose sizes are known at run
    time only stays as it is.
    """

    name = "result-views"
    xla = "no pass of XLA, whose buffers have layouts"
    transforms = True

    def run(self, module: Module, log: Log) -> Module:
        """The module with results that are row-major."""
        views = views_of(module)
        if not views or not log.rewrite("leave to the caller", module.entry.root):
            return module
        return _without(module, views)


def _results(root: Instruction) -> tuple[Instruction, ...]:
    return root.operands if root.opcode == "tuple" else (root,)


def _without(module: Module, views: Collection[int]) -> Module:
    """A module without the bitcasts that are some of its results."""
    root = _named(module.entry.root)
    results = _results(root)
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
    return replace(module, header=header, computations=computations, entry=entry)


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
    instructions = [i for i in entry.instructions if i not in dropped]
    if last not in instructions:
        instructions.append(last)
    return replace(entry, instructions=tuple(instructions), root=last)
