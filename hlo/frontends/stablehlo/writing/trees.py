"""Trees of values: tuples, taken apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hlo.frontends.stablehlo.writing.operation import MlirValue
    from hlo.types.shape import Shape

Tree = Any


def leaves(tree: Tree) -> list[MlirValue]:
    """The values of a tree, in order."""
    if not isinstance(tree, tuple):
        return [tree]
    return [leaf for part in cast("tuple[Tree, ...]", tree) for leaf in leaves(part)]


def packed(values: Iterable[MlirValue], shape: Shape) -> Tree:
    """The tree of a shape whose leaves are some values."""
    return _packed(iter(values), shape)


def _packed(values: Iterator[MlirValue], shape: Shape) -> Tree:
    if not shape.is_tuple:
        return next(values)
    return tuple(_packed(values, element) for element in shape.elements)
