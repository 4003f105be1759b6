"""Atomics of GPUs: the operations and element types that are combined in memory in one step."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from hlo import attributes as a
from hlo.support.xla_flags import has_flag

if TYPE_CHECKING:
    from hlo.instruction import Instruction

_WHOLE = frozenset({"s32", "u32", "s64", "u64"})
# The types that hardware has each operation for.
_TYPES = {
    "add": frozenset({"f32", "f64"}) | _WHOLE,
    **dict.fromkeys(("and", "maximum", "minimum", "or", "xor"), _WHOLE),
}
# Floats of 2 bytes, which a GPU adds to in one step or by comparing and exchanging them.
NARROW = frozenset({"bf16", "f16"})
# Fewer updates one thread combines as fast as others would sort them; as many threads fill a GPU.
MANY = 1024
# Sums of narrow floats depend much on their order, which is kept up to so many updates a thread.
MOST_IN_ORDER = 256


def atomic_of(scatter: Instruction) -> str | None:
    """The operation that combines an update with an element in one step; None if none does."""
    root, parameters = scatter.called[0].root, scatter.called[0].parameters
    if len(parameters) != 2 or set(root.operands) != set(parameters):
        return None
    kind = scatter.operands[0].shape.element_type.name
    if root.opcode == "add" and kind in NARROW and updates_each(scatter) > MOST_IN_ORDER:
        return root.opcode
    return root.opcode if kind in _TYPES.get(root.opcode, ()) else None


def is_deterministic(scatter: Instruction) -> bool:
    """Whether a GPU gives the same bits on every run; sums of floats meet in any order."""
    kind = scatter.operands[0].shape.element_type
    return a.Scatter.of(scatter).unique_indices or not kind.is_floating or not atomic_of(scatter)


def update_dims_apart(scatter: Instruction) -> tuple[int, ...]:
    """The dimensions of the updates along which different indices never meet in the operand.

    They are those of windows that always begin at the operand's first index.
    """
    attrs, rank = a.Scatter.of(scatter), len(scatter.operands[0].shape.dims)
    dropped = (*attrs.inserted_window_dims, *attrs.input_batching_dims)
    window = (d for d in range(rank) if d not in dropped)
    pairs = zip(window, attrs.update_window_dims, strict=True)
    return tuple(u for d, u in pairs if d not in attrs.scatter_dims_to_operand_dims)


def updates_each(scatter: Instruction) -> int:
    """The updates of a thread, if each takes those of an element of a window, in their order."""
    dims = scatter.operands[-1].shape.dims
    return prod(dims) // max(prod(dims[d] for d in update_dims_apart(scatter)), 1)


def is_sequential(scatter: Instruction) -> bool:
    """Whether few threads would combine many updates, as there is no atomic operation for them.

    Where windows give enough threads, each takes its updates in their order, as XLA's CPU backend
    does: sums of narrow floats are those of that order.
    """
    if a.Scatter.of(scatter).unique_indices or atomic_of(scatter) is not None:
        return False
    dims = scatter.operands[-1].shape.dims
    return prod(dims[d] for d in update_dims_apart(scatter)) < MANY <= updates_each(scatter)


def asked_for_determinism() -> bool:
    """Whether `XLA_FLAGS` in the environment has `--xla_gpu_deterministic_ops`."""
    return has_flag("xla_gpu_deterministic_ops")
