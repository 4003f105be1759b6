"""Atomics of GPUs: the operations and element types that are combined in memory in one step."""

from __future__ import annotations

import os
from math import prod
from typing import TYPE_CHECKING

from hlo import attributes as a

if TYPE_CHECKING:
    from hlo.instruction import Instruction

_WHOLE = frozenset({"s32", "u32", "s64", "u64"})
# CUDA's functions, and the types that hardware has each operation for.
ATOMICS = {
    "add": ("atomicAdd", frozenset({"f32", "f64"}) | _WHOLE),
    "and": ("atomicAnd", _WHOLE),
    "maximum": ("atomicMax", _WHOLE),
    "minimum": ("atomicMin", _WHOLE),
    "or": ("atomicOr", _WHOLE),
    "xor": ("atomicXor", _WHOLE),
}
# Fewer updates one thread combines as fast as others would sort them; as many threads fill a GPU.
MANY = 1024


def atomic_of(scatter: Instruction) -> str | None:
    """The atomic function that combines an update with an element; None if there is none."""
    root, parameters = scatter.called[0].root, scatter.called[0].parameters
    if len(parameters) != 2 or set(root.operands) != set(parameters):
        return None
    function, kinds = ATOMICS.get(root.opcode, ("", frozenset[str]()))
    return function if scatter.operands[0].shape.element_type.name in kinds else None


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


def is_sequential(scatter: Instruction) -> bool:
    """Whether few threads would combine many updates, as there is no atomic operation for them.

    Where windows give enough threads, each takes its updates in their order, as XLA's CPU backend
    does: sums of narrow floats are those of that order.
    """
    dims = scatter.operands[-1].shape.dims
    threads = prod(dims[d] for d in update_dims_apart(scatter))
    if a.Scatter.of(scatter).unique_indices or atomic_of(scatter) is not None:
        return False
    return threads < MANY <= prod(dims) // max(threads, 1)


def asked_for_determinism() -> bool:
    """Whether `XLA_FLAGS` in the environment has `--xla_gpu_deterministic_ops`."""
    words = os.environ.get("XLA_FLAGS", "").split()
    flag = "--xla_gpu_deterministic_ops"
    return any(word in (flag, f"{flag}=true", f"{flag}=1") for word in words)
