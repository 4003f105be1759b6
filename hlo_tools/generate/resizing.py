"""The same module over other shapes: smaller or larger arrays, other element types.

Parameters, constants and declared shapes change as they are told; every other shape follows from
its operands again. Slices and the like are cut to what is left. Nothing promises that such a module
exists: who calls this verifies it, or takes an `HloError` for a no.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo import attributes as a
from hlo.attributes import Constant
from hlo.infer import infer
from hlo.opcode import CONVERSIONS
from hlo.types.literal import literal
from hlo.types.shape import Shape
from hlo.types.values import ComputationLayout, PaddingDim, SliceDim
from hlo.walk import called_first

if TYPE_CHECKING:
    from hlo.instruction import Computation, Instruction, Module

# The new shape of an array.
Change = Callable[[Shape], Shape]
# Opcodes whose element type is declared.
CONVERTING = CONVERSIONS | {"rng", "topk"}
# Opcodes of arrays whose declared shape is one of several that their operands allow.
DECLARED = CONVERTING | {"reshape", "iota"}


def reshaped(
    module: Module, change: Change, attrs: Mapping[Instruction, a.Attrs] | None = None
) -> Module:
    """A module over other arrays.

    Parameters
    ----------
    attrs : new attributes of some instructions.

    Raises
    ------
    HloError
        if some instruction has no shape then.
    """
    attrs = attrs or {}
    became: dict[Computation, Computation] = {}
    for computation in called_first(module.entry):
        now: dict[Instruction, Instruction] = {}
        for instr in computation.instructions:
            operands = tuple(now[o] for o in instr.operands)
            before = tuple(now[p] for p in instr.control_predecessors)
            called = tuple(became[c] for c in instr.called)
            resized = instr.rewired(operands, before, called)
            if instr in attrs:
                resized = resized.with_(attrs=attrs[instr])
            now[instr] = _changed(resized, instr, change)
        instructions = tuple(now[i] for i in computation.instructions)
        resized = replace(computation, instructions=instructions, root=now[computation.root])
        became[computation] = resized
    return with_entry(module, became[module.entry])


def with_entry(module: Module, entry: Computation) -> Module:
    """A module with another entry computation, and all that this calls."""
    layout = ComputationLayout(tuple(p.shape for p in entry.parameters), entry.root.shape)
    header = replace(module.header, entry_computation_layout=layout)
    return replace(module, computations=tuple(called_first(entry)), entry=entry, header=header)


def changed(shape: Shape, change: Change) -> Shape:
    """A shape whose arrays, at any depth of tuples, are changed."""
    if shape.elements:
        return replace(shape, elements=tuple(changed(e, change) for e in shape.elements))
    return change(shape) if shape.is_array else shape


def _changed(resized: Instruction, instr: Instruction, change: Change) -> Instruction:
    """An instruction over its new operands."""
    if instr.opcode == "constant":
        return _constant(resized, change)
    if instr.opcode in DECLARED or not instr.operands:
        shape = changed(instr.shape, change)
        if resized.operands and instr.opcode not in CONVERTING:
            shape = replace(shape, element_type=resized.operands[0].shape.element_type)
        return resized.with_(shape=shape)
    if instr.opcode == "broadcast":
        return _broadcast(resized, change)
    fitted = resized.with_(attrs=_fitted(resized, instr), shape=changed(instr.shape, change))
    shape = infer(fitted)
    return fitted if shape.compatible(fitted.shape) else fitted.with_(shape=shape)


def _constant(resized: Instruction, change: Change) -> Instruction:
    shape, old = changed(resized.shape, change), a.Constant.of(resized).literal
    if shape is resized.shape or not shape.is_array or old.array is None:
        return resized
    return resized.with_(shape=shape, attrs=Constant(literal=literal(cut(old.array, shape), shape)))


def cut(array: Any, shape: Shape) -> Any:
    """The first elements of an array, repeated where there are too few, in a shape's type."""
    with np.errstate(all="ignore"):
        resized = array
        for axis, size in enumerate(shape.dims):
            if axis < resized.ndim and resized.shape[axis]:
                resized = np.take(resized, np.arange(size) % resized.shape[axis], axis)
        if resized.shape != shape.dims:
            flat = resized.reshape(-1) if resized.size else np.zeros(1, array.dtype)
            resized = np.resize(flat, shape.dims)
        if resized.dtype.kind == "c" and not shape.element_type.is_complex:
            resized = resized.real
        return resized.astype(shape.element_type.dtype)


def _broadcast(resized: Instruction, change: Change) -> Instruction:
    shape, operand = change(resized.shape), resized.operands[0].shape
    axes = a.Broadcast.of(resized).dimensions
    dims = [operand.dims[axes.index(d)] if d in axes else n for d, n in enumerate(shape.dims)]
    return resized.with_(shape=replace(shape, element_type=operand.element_type, dims=tuple(dims)))


def _fitted(resized: Instruction, instr: Instruction) -> Any:
    """Attributes whose sizes are no larger than the new operand's."""
    if not resized.operands or not resized.operands[0].shape.is_array:
        return resized.attrs
    old, new = instr.operands[0].shape.dims, resized.operands[0].shape.dims
    if old == new or len(old) != len(new):
        return resized.attrs

    def fit(size: int, d: int) -> int:
        return new[d] if size == old[d] else min(size, new[d])

    if instr.opcode == "slice":
        ranges = a.Slice.of(resized).slice
        limits = [fit(r.limit, d) for d, r in enumerate(ranges)]
        # As many elements as before, as far as there are so many.
        pairs = zip(ranges, limits, strict=True)
        starts = [max(0, min(r.start, n - (r.limit - r.start))) for r, n in pairs]
        strides = [r.stride for r in ranges]
        return replace(resized.attrs, slice=tuple(map(SliceDim, starts, limits, strides)))
    if instr.opcode == "pad":
        gone = [before - after for before, after in zip(old, new, strict=True)]
        padding = zip(a.Pad.of(resized).padding, gone, strict=True)
        return replace(resized.attrs, padding=tuple(_cropped(p, n) for p, n in padding))
    for name in ("dynamic_slice_sizes", "slice_sizes"):
        sizes: Any = getattr(resized.attrs, name, None)
        # Those of a collective-permute are lists of lists.
        if sizes is not None and len(sizes) == len(new) and all(isinstance(n, int) for n in sizes):
            fitted = tuple(fit(n, d) for d, n in enumerate(sizes))
            return replace(resized.attrs, **{name: fitted})
    return resized.attrs


def _cropped(padding: PaddingDim, gone: int) -> PaddingDim:
    """Negative padding that crops less where so many elements are gone anyway."""
    if padding.high >= 0:
        return padding
    return replace(padding, high=min(0, padding.high + gone * (1 + padding.interior)))
