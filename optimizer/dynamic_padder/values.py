"""A value with its run-time sizes, and the mask of the elements that count."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hlo.types.element_type import S32
from optimizer.expanders.parts import counting, less, spread
from optimizer.rewriting.make import make, splat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hlo.instruction import Instruction
    from hlo.types.shape import Shape


@dataclass(frozen=True, slots=True)
class Padded:
    """An array of the bounds of a value's dimensions.

    Attributes
    ----------
    sizes : by dimension, how many elements of it count: s32 of shape (). Of the other dimensions
        all do.
    """

    value: Instruction
    sizes: Mapping[int, Instruction] = field(default_factory=dict[int, Any])

    def masked(self, fill: Instruction, dims: Iterable[int] | None = None) -> Instruction:
        """The array with a scalar in the place of elements that do not count.

        Parameters
        ----------
        dims : those in which to look; all if None.
        """
        return self.over(spread(fill, self.value.shape.dims), dims)

    def over(self, under: Instruction, dims: Iterable[int] | None = None) -> Instruction:
        """The array with another one's elements in the place of those that do not count.

        Parameters
        ----------
        under : of the same shape.
        dims : those in which to look; all if None.
        """
        shape, value = self.value.shape, self.value
        for d in self.sizes if dims is None else dims:
            if d in self.sizes:
                indices = counting(S32, shape.dims, d)
                counts = less(indices, spread(self.sizes[d], shape.dims))
                value = make("select", counts, value, under)
        return value

    def zeroed(self, dims: Iterable[int] | None = None) -> Instruction:
        """The array with zeros in the place of elements that do not count."""
        zero = splat(0, replace(self.value.shape, dims=(), layout=None, dynamic=()))
        return self.masked(zero, dims)


# The values of a tuple are in a Python tuple; a token is an instruction like any other.
Tree = Padded | tuple[Any, ...]


def static(shape: Shape) -> Shape:
    """A shape whose dimensions all have their bounds."""
    if shape.is_tuple:
        return replace(shape, elements=tuple(map(static, shape.elements)))
    return replace(shape, dynamic=())


def instruction_of(tree: Tree) -> Instruction:
    """One instruction for a value: a tuple, where it is one."""
    if isinstance(tree, tuple):
        return make("tuple", *map(instruction_of, tree))
    return tree.value


def padded_leaves(tree: Tree) -> list[Padded]:
    """The arrays of a value, in order."""
    if isinstance(tree, tuple):
        return [leaf for element in tree for leaf in padded_leaves(element)]
    return [tree]
