"""Transformations in turn, again and again: how a simplifier with several goes over a module."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from optimizer.cleanup.tuple_simplifier import TupleSimplifier
from optimizer.rewriting.settle import settle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hlo.instruction import Module
    from optimizer.log import Log

Transformation = TypeVar("Transformation")


def in_turn(
    module: Module,
    log: Log,
    transformations: Sequence[Transformation],
    transformed: Callable[[Module, Transformation, Log], Module],
) -> Module:
    """A module that none of some transformations changes any more.

    Parameters
    ----------
    transformed : does one; the tuples that they leave behind are simplified.
    """

    def once(module: Module) -> Module:
        changed = module
        for transformation in transformations:
            changed = transformed(changed, transformation, log)
        return changed if changed is module else log.run(TupleSimplifier(), changed)

    return settle(module, once)
