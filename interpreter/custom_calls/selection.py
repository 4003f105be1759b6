"""Custom calls that select the largest elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo import attributes as a
from hlo.errors.error import HloError
from hlo.infer import infer
from hlo.infer.checks import compatible, scalar_of, show
from hlo.instruction import Instruction
from hlo.types.element_type import ELEMENT_TYPES
from hlo.types.shape import tuple_of
from interpreter.custom_calls.options import config
from interpreter.custom_calls.registry import custom_call
from interpreter.custom_calls.signatures import Signature, checked, register_signature
from interpreter.order import evaluate_sort, evaluate_topk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interpreter.custom_calls.signatures import Options
    from interpreter.engine.frame import Frame

    Array = NDArray[Any]


@custom_call("TopK", "__gpu$TopK")
def top_k(_frame: Frame, instr: Instruction, operand: Array) -> tuple[Array, Array]:
    """The k largest elements of the last dimension, and where they are.

    References
    ----------
    XLA's TopkRewriter and TopK in the CPU backend.
    """
    k = instr.shape.elements[0].dims[-1]
    return evaluate_topk(instr, a.TopK(k=k, largest=True), operand)


# The types that `topk` orders.
_ORDERED = tuple(t.name for t in ELEMENT_TYPES.values() if t.is_array and not t.is_complex)
_TOP_K = Signature(
    "T[*,n] -> T[*,t] s32[*,t]", needs="needs t <= n", holds=lambda s, _: s["t"] <= s["n"]
)
register_signature(_TOP_K, "TopK", "__gpu$TopK", types=_ORDERED)


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
    ordered = evaluate_sort(
        frame, _sort(instr, dim), a.Sort(dimensions=(dim,), is_stable=True), *arrays
    )
    sorted_arrays = ordered if isinstance(ordered, tuple) else (ordered,)
    first = (slice(None),) * dim + (slice(k),)
    return tuple(array[first] for array in sorted_arrays)


def _sort(instr: Instruction, dim: int) -> Instruction:
    """The sort of all elements in whose result the first ones are wanted."""
    arrays = instr.operands[: len(instr.operands) // 2]
    attrs = a.Sort(dimensions=(dim,), is_stable=True)
    shape = tuple_of(*(operand.shape for operand in arrays))
    return Instruction(instr.name, "sort", shape, arrays, attrs, instr.called, span=instr.span)


@checked("ApproxTopK", note="n arrays of one shape, n initial values -> n arrays")
def check_approximate_top_k(instr: Instruction, options: Options | None) -> str:
    """The fault in the shapes and the options of `approximate_top_k`."""
    said = config(instr) if options is None else options
    dim, k = (said.get(key) for key in ("reduction_dim", "top_k"))
    shapes = [o.shape for o in instr.operands]
    arrays, initials = shapes[: len(shapes) // 2], shapes[len(shapes) // 2 :]
    results = instr.shape.elements if instr.shape.is_tuple else (instr.shape,)
    if not arrays or len({len(arrays), len(initials), len(results)}) != 1:
        return f"takes 2 n operands and gives n arrays, not {len(shapes)} and {len(results)}"
    rank = arrays[0].rank
    if not isinstance(dim, int) or not isinstance(k, int) or not 0 <= dim < rank or k < 0:
        return f"can't take the first {k!r} along dimension {dim!r} of {rank}"
    for array, initial, result in zip(arrays, initials, results, strict=True):
        if not array.is_array or array.dims != arrays[0].dims or initial != scalar_of(array):
            return f"takes no {show(array)} with the initial value {show(initial)}"
        first = (*array.dims[:dim], min(k, array.dims[dim]), *array.dims[dim + 1 :])
        if not compatible(result, array.with_dims(first)):
            return f"makes no {show(result)} of {show(array)}"
    return _unsorted(instr, dim)


def _unsorted(instr: Instruction, dim: int) -> str:
    """The reason why the elements cannot be sorted; "" if they can."""
    if len(instr.called) != 1:
        return "needs a comparator"
    try:
        infer(_sort(instr, dim))
    except HloError as error:
        return f"cannot sort: {error.message}"
    return ""
