"""Custom calls that select the largest elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo import attributes as a
from hlo.instruction import Instruction
from hlo.types.shape import tuple_of
from interpreter.custom_calls.registry import config, custom_call
from interpreter.order import evaluate_sort, evaluate_topk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interpreter.engine.frame import Frame

    Array = NDArray[Any]


@custom_call("TopK", "__gpu$TopK")
def top_k(_frame: Frame, instr: Instruction, operand: Array) -> tuple[Array, Array]:
    """The k largest elements of the last dimension, and where they stand.

    References
    ----------
    XLA's TopkRewriter and TopK in the CPU backend.
    """
    k = instr.shape.elements[0].dims[-1]
    return evaluate_topk(instr, a.TopK(k=k, largest=True), operand)


@custom_call("ApproxTopK")
def approximate_top_k(frame: Frame, instr: Instruction, *operands: Array) -> tuple[Array, ...]:
    """The first k elements along a dimension in the order of the called comparator.

    Parameters
    ----------
    operands : n arrays of one shape, then n initial values, which only padding would need.

    References
    ----------
    `ApproxTopK` in `xla/hlo/builder/lib/approx_topk.cc`. On a CPU it is exact, too.
    """
    options = config(instr)
    arrays = operands[: len(operands) // 2]
    dim, k = int(options["reduction_dim"]), int(options["top_k"])
    sort = Instruction(
        instr.name,
        "sort",
        tuple_of(*(operand.shape for operand in instr.operands[: len(arrays)])),
        instr.operands[: len(arrays)],
        a.Sort(dimensions=(dim,), is_stable=True),
        instr.called,
        span=instr.span,
    )
    ordered = evaluate_sort(frame, sort, a.Sort(dimensions=(dim,), is_stable=True), *arrays)
    sorted_arrays = ordered if isinstance(ordered, tuple) else (ordered,)
    first = (slice(None),) * dim + (slice(k),)
    return tuple(array[first] for array in sorted_arrays)
