"""Vectorize, parallelize: iterations run at once, in the lanes of vectors or on threads.

The primitives check that iterations depend on each other in no way but what the loop folds; how
they run at once is the emitter's. (Halide: `vectorize`, `parallel`; Exo: `parallelize_loop`.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.schedule.legality import IllegalError, expect_independent
from codegen.schedule.loop import LoopView
from codegen.schedule.trace import applied
from codegen.statements import For

if TYPE_CHECKING:
    from collections.abc import Callable


def vectorize(loop: For) -> For:
    """The loop in lanes of vectors.

    Raises
    ------
    IllegalError
        if it has a loop inside, or if two iterations may access one element that one of them
        writes.
    """
    if not LoopView(loop).is_straight:
        raise IllegalError(f"an iteration of the loop over {loop.name} is no straight code")
    reason = expect_independent(LoopView(loop))
    made = replace(loop, simd=True)
    applied("vectorize", reason, loop, [made])
    return made


def parallelize(loop: For) -> For:
    """The loop on threads, where there is enough work for them.

    Raises
    ------
    IllegalError
        if it folds, or if two iterations may access one element or variable that one of them
        writes.
    """
    if loop.reductions:
        raise IllegalError(f"the loop over {loop.name} folds, and threads would share the total")
    reason = expect_independent(LoopView(loop))
    made = replace(loop, parallel=True)
    applied("parallelize", reason, loop, [made])
    return made


def innermost(loop: For, change: Callable[[For], For]) -> For:
    """The loop, with the innermost loops in it changed: `innermost(nest, vectorize)`."""
    if not any(isinstance(s, For) for s in loop.body):
        return change(loop)
    inside = (innermost(s, change) if isinstance(s, For) else s for s in loop.body)
    return loop.with_body(inside)
