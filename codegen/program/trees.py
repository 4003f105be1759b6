"""Trees of pointers: a tuple's value is a tuple of its elements', an array's is a C pointer's name.

A token has no memory; None stands for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlo.types.shape import Shape

Tree = object  # a name, None, or a tuple of trees


def numbered(shape: Shape, first: int = 0) -> Tree:
    """The numbers of a shape's leaves, in order; None for tokens."""
    return nested(shape, (n if leaf.is_array else None for n, leaf in _leaves_from(shape, first)))


def _leaves_from(shape: Shape, first: int) -> Iterator[tuple[int, Shape]]:
    return ((n, leaf) for n, (_, leaf) in enumerate(shape.leaves(), first))


def nested(shape: Shape, leaves: Iterator[object]) -> Tree:
    """The tree of a shape that has the given leaves, in order."""
    if shape.is_tuple:
        return tuple(nested(s, leaves) for s in shape.elements)
    return next(leaves)


def leaves(tree: Tree, shape: Shape) -> list[str | None]:
    """The pointers of a value, in order; None for tokens."""
    if shape.is_tuple:
        trees = cast("tuple[Tree, ...]", tree)
        pairs = zip(trees, shape.elements, strict=True)
        return [pointer for t, s in pairs for pointer in leaves(t, s)]
    return [tree if isinstance(tree, str) else None]


def branch(tree: Tree, number: int) -> Tree:
    """An element of a tuple's tree."""
    return cast("tuple[Tree, ...]", tree)[number]
