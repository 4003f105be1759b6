"""Evaluates a module in the worst way that XLA allows: ties shuffled, false claims exploited.

An unstable sort may put equal elements in any order, so here it starts from a random one. What may
give anything gives wrong elements here: indices that claim to be sorted or unique, and are not, and
a comparator that contradicts itself, as LT does for NaN.
A pass that makes a sort unstable, or such a claim, keeps the value only if nobody can see this.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo.attributes import Compare, Gather, Scatter, Sort
from hlo.names import NameSupply
from hlo.types.element_type import S32
from hlo.types.shape import array
from hlo_tools.generate.operands import scalar_computation
from interpreter.indexing import evaluate_gather, evaluate_scatter
from interpreter.numbers.widths import type_of, widened
from interpreter.order import evaluate_sort
from interpreter.table import evaluates

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from hlo.instruction import Computation, Instruction, Module
    from interpreter.engine.frame import Frame

Value = Any  # an array, None for a token, or a tuple of values


def leaves_open(module: Module) -> bool:
    """Whether some instruction of a module has a value that XLA leaves open in part."""
    return any(map(is_open, module.instructions()))


def is_open(instr: Instruction) -> bool:
    """Whether an instruction may choose an order of equals, or makes a claim of its indices."""
    attrs = instr.attrs
    if isinstance(attrs, Sort):
        return not attrs.is_stable
    claims = isinstance(attrs, Gather | Scatter) and attrs.indices_are_sorted
    return claims or (isinstance(attrs, Scatter) and attrs.unique_indices)


@contextmanager
def malicious(seed: int) -> Generator[None]:
    """Let the interpreter choose badly wherever XLA leaves it a choice, for a while."""
    random = np.random.default_rng(seed)

    def sort(frame: Frame, instr: Instruction, attrs: Sort, *operands: Any) -> Value:
        axis = attrs.dimensions[0]
        if not attrs.is_stable:
            dims = operands[0].shape
            rows: tuple[int, ...] = (*dims[:axis], *dims[axis + 1 :], dims[axis])
            spread: Any = np.broadcast_to
            places = spread(np.arange(dims[axis]), rows)
            order = np.moveaxis(random.permuted(places, axis=-1), -1, axis)
            operands = tuple(np.take_along_axis(o, order, axis) for o in operands)
        value = evaluate_sort(frame, instr, attrs, *operands)
        if contradicts_itself(instr.called[0], operands):
            return tuple(map(another, value)) if instr.shape.is_tuple else another(value)
        return value

    entries = {"sort": sort, "gather": gather, "scatter": scatter}
    with ExitStack() as stack:
        for opcode, entry in entries.items():
            stack.enter_context(evaluates.replaced(opcode, entry))
        yield


def contradicts_itself(comparator: Computation, operands: Sequence[Any]) -> bool:
    """Whether a comparator may take NaN for equal to everything."""
    types = {Compare.of(i).type for i in comparator.instructions if i.opcode == "compare"}
    floats = [o for o in operands if type_of(o).is_floating]
    return "TOTALORDER" not in types and any(np.isnan(widened(o)).any() for o in floats)


def gather(instr: Instruction, attrs: Gather, operand: Any, indices: Any) -> Value:
    """Gather, but other elements where the indices claim to be sorted and are not."""
    value = evaluate_gather(instr, attrs, operand, indices)
    claims = attrs.indices_are_sorted and not attrs.operand_batching_dims
    if claims and not is_sorted(indices, attrs.index_vector_dim, attrs.start_index_map):
        return another(value)
    return value


def scatter(frame: Frame, instr: Instruction, attrs: Scatter, *operands: Any) -> Value:
    """Scatter, but other elements where a claim about the indices is not true."""
    value: Any = evaluate_scatter(frame, instr, attrs, *operands)
    arrays: tuple[Any, ...] = value if instr.shape.is_tuple else (value,)
    half = len(operands) // 2
    wrong: Any = np.zeros(operands[0].shape, np.bool_)
    claims = attrs.indices_are_sorted and not attrs.input_batching_dims
    to_dims = attrs.scatter_dims_to_operand_dims
    if claims and not is_sorted(operands[half], attrs.index_vector_dim, to_dims):
        wrong = ~wrong
    elif attrs.unique_indices:
        first = operands[0], operands[half], operands[half + 1]
        wrong = updates_of_each(frame, instr, attrs, *first) > 1
    choose: Any = np.where
    results = tuple(choose(wrong, another(result), result) for result in arrays)
    return results if instr.shape.is_tuple else results[0]


def updates_of_each(
    frame: Frame, instr: Instruction, attrs: Scatter, operand: Any, indices: Any, updates: Any
) -> Any:
    """The number of updates that each element of a scatter's operand gets."""
    zeros, ones = np.zeros(operand.shape, np.int32), np.ones(updates.shape, np.int32)
    add = scalar_computation("add", S32, NameSupply())
    counting = instr.with_(shape=array(S32, operand.shape), called=(add,))
    return evaluate_scatter(frame, counting, attrs, zeros, indices, ones)


def is_sorted(indices: Any, vector_dim: int, to_dims: tuple[int, ...]) -> bool:
    """Whether index vectors ascend, the first dimension that they index counting most."""
    if not indices.size:
        return True
    vectors = indices[..., np.newaxis] if vector_dim == indices.ndim else indices
    rows = np.moveaxis(vectors, vector_dim, -1).reshape(-1, len(to_dims))
    ordered: list[Any] = rows[:, np.argsort(to_dims)].tolist()
    return ordered == sorted(ordered)


def another(value: Any) -> Any:
    """An array each of whose elements is another number."""
    choose: Any = np.where
    return choose(value == 1, 0, 1).astype(value.dtype)
