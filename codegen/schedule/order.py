"""Vectorize, parallelize, bind: iterations run at once, in lanes of vectors or on threads.

The primitives check that iterations depend on each other in no way but what the loop folds; how
they run at once is the emitter's. (Halide: `vectorize`, `parallel`, `gpu_threads`; Exo:
`parallelize_loop`; TVM: `bind`.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Level
from codegen.schedule.legality import IllegalError, expect_independent
from codegen.schedule.loop import LoopView
from codegen.schedule.obligations import AnyOrder, granted
from codegen.schedule.trace import applied
from codegen.statements import For, nested

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from codegen.expressions import LaunchIndex
    from codegen.statements import Statement


def vectorize(loop: For) -> For:
    """The loop in lanes of vectors.

        for (s64 i = 0; i < 90; i++) y[i] = x[i] + x[i + 1];

    becomes

        #pragma omp simd
        for (s64 i = 0; i < 90; i++) y[i] = x[i] + x[i + 1];

    Raises
    ------
    IllegalError
        if it has a loop or a branch inside, or if two iterations may access one element that one
        of them writes.
    """
    if not LoopView(loop).is_straight:
        raise IllegalError(f"a loop or a branch is inside of the loop over {loop.name}")
    if loop.simd:
        return loop
    reason = expect_independent(LoopView(loop))
    granted(*(AnyOrder(op) for op, _ in loop.reductions))
    simd_loop = replace(loop, simd=True)
    applied("vectorize", reason, loop, [simd_loop])
    return simd_loop


def parallelize(loop: For) -> For:
    """The loop on threads, where there is enough work for them.

        for (s64 i = 0; i < 90; i++) y[i] = x[i] + x[i + 1];

    becomes the same loop, with the promise that its iterations may run in any order. Emitters deal
    them to threads: in C, by a function of a part of the range (see `emit_c.kernels.parallelize`).

    Raises
    ------
    IllegalError
        if it folds, or if two iterations may access one element or variable that one of them
        writes.
    """
    if loop.reductions:
        raise IllegalError(f"the loop over {loop.name} folds, and threads would share the total")
    reason = expect_independent(LoopView(loop))
    parallel_loop = replace(loop, parallel=True)
    applied("parallelize", reason, loop, [parallel_loop])
    return parallel_loop


def bind(loop: For, index: LaunchIndex) -> For:
    """The loop on the blocks of a GPU, or on the threads of a block: one for each iteration.

        for (s64 i = 0; i < 90; i++) y[i] = x[i] + x[i + 1];

    becomes, bound to `THREAD_X`,

        // bound to threadIdx.x
        for (s64 i = 0; i < 90; i++) y[i] = x[i] + x[i + 1];

    What threads of a block store in an array that an iteration of the loop over blocks declares is
    there for all of them after the loop. What they fold, they join; then the first of them has the
    result, and does what comes after. A loop inside that has the index, too, counts faster.

    Parameters
    ----------
    index : `BLOCK_X`, `THREAD_Y` and the like.

    Raises
    ------
    IllegalError
        as of `expect_bindable`; if the bounds are not known, if blocks would fold together, or if
        two iterations may access one element that one of them writes.
    """
    expect_bindable([replace(loop, bind=index)])
    if loop.reductions and index.level is Level.BLOCK:
        raise IllegalError(f"the loop over {loop.name} folds, and blocks would share the total")
    if LoopView(loop).bounds is None:
        raise IllegalError(f"the bounds of the loop over {loop.name} are not known")
    reason = expect_independent(LoopView(loop))
    granted(*(AnyOrder(op) for op, _ in loop.reductions))
    bound_loop = replace(loop, bind=index, simd=False)
    applied(f"bind to {index!s}", reason, loop, [bound_loop])
    return bound_loop


def expect_bindable(statements: Iterable[Statement]) -> None:
    """Raise unless bound loops over blocks are outside of those over threads.

    Raises
    ------
    IllegalError
        if blocks are inside of threads: blocks do not share what a thread has.
    """
    loops = (s for s in nested(statements) if isinstance(s, For))
    for loop in (s for s in loops if _level(s) is Level.THREAD):
        for s in nested(loop.body):
            if isinstance(s, For) and _level(s) is Level.BLOCK:
                inside = f"the loop over {s.name}, inside of the one over {loop.name},"
                raise IllegalError(f"{inside} has {s.bind!s}: threads are inside of blocks")


def _level(loop: For) -> Level | None:
    return loop.bind and loop.bind.level


def innermost(loop: For, change: Callable[[For], For]) -> For:
    """The loop, with the innermost loops in it changed: `innermost(nest, vectorize)`."""
    if not any(isinstance(s, For) for s in loop.body):
        return change(loop)
    inside = (innermost(s, change) if isinstance(s, For) else s for s in loop.body)
    return loop.with_body(inside)
