"""Sorting values with run-time sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.instruction import Computation
from hlo.names import NameSupply
from hlo.types.element_type import PRED, S32
from hlo.types.shape import array
from optimizer.dynamic_padder.rules import common, remade, rule
from optimizer.dynamic_padder.values import Padded, Tree
from optimizer.expanders.op_expander import element
from optimizer.expanders.parts import counting, less, spread
from optimizer.rewriting.make import make

if TYPE_CHECKING:
    from hlo.instruction import Instruction


@rule("sort")
def sort(instr: Instruction, *operands: Padded) -> Tree:
    """The elements that do not count go after those that do, in their order."""
    attrs = a.Sort.of(instr)
    sizes, axis = common(operands), attrs.dimensions[0]
    values = [o.value for o in operands]
    if axis not in sizes:
        return _results(instr, remade(instr, operands, {}).value, sizes)
    dims = values[0].shape.dims
    counts = less(counting(S32, dims, axis), spread(sizes[axis], dims))
    ordered = make(
        *("sort", *values, counts),
        dimensions=attrs.dimensions,
        is_stable=True,
        called=(_counting_first(instr.called[0]),),
    )
    return _results(instr, ordered, sizes)


def _results(instr: Instruction, ordered: Instruction, sizes: dict[int, Instruction]) -> Tree:
    """The results of a sort, each with the run-time sizes that its shape shows."""
    shapes = instr.shape.elements if instr.shape.is_tuple else (instr.shape,)
    parts = (
        [element(ordered, i) for i in range(len(shapes))] if ordered.shape.is_tuple else [ordered]
    )
    tree = tuple(
        Padded(part, {d: size for d, size in sizes.items() if shape.dynamic_at(d)})
        for part, shape in zip(parts, shapes, strict=True)
    )
    return tree if instr.shape.is_tuple else tree[0]


def _counting_first(comparator: Computation) -> Computation:
    """A comparator of two more operands, whether the others count.

    Those that do not count are equal among themselves, and come after all others.
    """
    names = NameSupply()
    for instr in comparator.instructions:
        names.unique(instr.name)
    number = len(comparator.parameters)
    left, right = (
        make("parameter", shape=array(PRED), number=number + i).with_(name=names.unique("counts"))
        for i in range(2)
    )
    neither = make("not", right).with_(name=names.unique("not"))
    before = make("or", comparator.root, neither).with_(name=names.unique("or"))
    root = make("and", left, before).with_(name=names.unique("and"))
    added = (left, right, neither, before, root)
    return Computation(comparator.name, (*comparator.instructions, *added), root)
