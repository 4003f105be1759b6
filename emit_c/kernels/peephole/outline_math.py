"""Long functions of numbers, called instead of inlined where that makes the code short.

    for j < 100: y = tanh_f32(x[j])

becomes

    for j < 100: y = hlo_tanh_f32(x[j])

A compiler takes a hundredth of a second for every place where a function like `tanh` is inlined,
and there are three of them: what a loop in lanes has left over, it does in shorter vectors, and
then one by one. A call takes a tenth longer than that, for all numbers that fit into a vector at
once. So what is done for many numbers is inlined, and for few it is called; of a loop of many
iterations the last ones, which fill no vector, are a loop of few iterations. Functions of complex
numbers cost more to call: what the sine and the cosine of one angle have in common is computed once
only where both are inlined.

A function of both parts of a complex number, its magnitude, is always called. Where it is inlined,
and both parts of a result need it, gcc computes it for each of them: the lanes of both are those of
one vector in memory, and gcc makes all vectors alike that lead to them (SLP). Without this, a Julia
set takes 2.4 times as long.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen.expressions import Apply, Expr, Op
from codegen.loops.work import trip_count
from codegen.statements import For, Forever, If, Statement, callees_in, rewritten
from codegen.walk import rebuilt
from emit_c.code.prelude import called, complex_functions, long_functions
from hlo.support import machine

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

CALLS_IN_A_MICROSECOND = 512
"""A fact: calls of a function with vectors in registers, 2 ns each."""

FEW_CALLS = 8 * CALLS_IN_A_MICROSECOND
"""Derived: calls that cost less than 10 us."""
COMPLEX_CALL = 32
"""Measured: what a call of a function of complex numbers costs, in calls of functions of numbers;
it is 8 (log) to 20 (sine, tanh) for c64, and up to 130 (exp) for c128. No program's C changes with
16 or 64."""


def outline_math(statements: Sequence[Statement], times: int = 1) -> tuple[Statement, ...]:
    """Statements that call long functions where they are computed for few numbers.

    Parameters
    ----------
    times : how often the statements run in one run of the module.
    """
    if not _are_applied(long_functions(), statements):
        return tuple(statements)
    return tuple(call for s in statements for call in _with_calls(s, times))


def _with_calls(statement: Statement, times: int) -> Sequence[Statement]:
    match statement:
        case For(simd=True, body=body) if _is_often(
            statement, times * _calls(trip_count(statement))
        ):
            loop = statement.with_body([rewritten(s, _with_magnitudes_called) for s in body])
            return _whole_vectors(loop, times)
        case For(body=body):
            return [statement.with_body(outline_math(body, times * trip_count(statement)))]
        case If(condition, then, otherwise):
            return [If(condition, outline_math(then, times), outline_math(otherwise, times))]
        case Forever(body):
            return [Forever(outline_math(body, times))]
        case _:
            # A function is called once for a block of lanes.
            few = times <= FEW_CALLS * machine.BLOCK_OF_LANES
            return [rewritten(statement, _called) if few else statement]


def _calls(numbers: int) -> int:
    """About how many calls some numbers take: one for a vector, one for each that is left over."""
    return numbers // machine.BLOCK_OF_LANES + numbers % machine.BLOCK_OF_LANES


def _is_often(loop: For, calls: int) -> bool:
    """Whether calls cost more than inlining; those of complex functions cost more each."""
    return calls > FEW_CALLS or (
        calls * COMPLEX_CALL > FEW_CALLS and _are_applied(complex_functions(), [loop])
    )


def _whole_vectors(loop: For, times: int) -> Sequence[Statement]:
    """A SIMD loop that inlines long functions, and a remainder loop that calls them."""
    left = trip_count(loop) % machine.BLOCK_OF_LANES
    if (
        not 0 < times * _calls(left) <= FEW_CALLS
        or not isinstance(loop.stop, int)
        or loop.step != 1
        or not has_long_functions(loop)
    ):
        return [loop]
    whole = loop.stop - left
    rest = rewritten(replace(loop, start=whole), _called)
    return [replace(loop, stop=whole), rest]


def has_long_functions(loop: For) -> bool:
    """Whether long functions are inlined into a loop."""
    return _are_applied(long_functions(), [loop])


def _are_applied(names: Collection[str], statements: Sequence[Statement]) -> bool:
    """Whether statements apply one of some functions."""
    return any(function.name in names for function in callees_in(statements))


def _called(tree: Expr) -> Expr:
    """A tree that calls the long functions in it."""
    tree = rebuilt(tree, _called)
    if isinstance(tree, Apply) and tree.function.name in long_functions():
        return Apply(called(tree.function), tree.args)
    return tree


def _with_magnitudes_called(tree: Expr) -> Expr:
    """A tree that calls those of the long functions in it that take the parts of a number."""
    tree = rebuilt(tree, _with_magnitudes_called)
    match tree:
        case Apply(function, (Op("real"), Op("imag"))) if function.name in long_functions():
            return Apply(called(function), tree.args)
        case _:
            return tree
