"""Calls of foreign functions, by the interpreter and by C.

Either has arrays in row-major order; a handler is given those that the call's layouts name. Both
come to `Site.call`, C by a function that `ctypes` makes, with a number for the site and the
addresses of all arrays.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from emit_c.code.foreign import fail
from emit_c.custom_calls.table import kernel
from hlo.attributes import CustomCall
from hlo.types.shape import row_major
from hlo_jax.abi import ffi
from hlo_jax.called_from_c import array_at, write_call
from hlo_jax.ffi.api import States
from hlo_jax.ffi.handlers import HandlerInstance, foreign_calls, instance_of
from interpreter.custom_calls.registry import CUSTOM_CALLS, custom_call, function_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Name
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape
    from interpreter.engine.frame import Frame
    from interpreter.table import Value

    Arrays = Sequence["np.ndarray | None"]

# The alignment that XLA's CPU backend promises for its buffers, in bytes.
ALIGNMENT = 16


@dataclass(frozen=True, slots=True)
class Site:
    """A custom call that a handler of the user's answers.

    Attributes
    ----------
    operands, results : the shapes, in the layouts in which the handler wants the arrays.
    aliases : by the number of a result, that of the operand whose memory it takes.
    """

    instr: Instruction
    operands: tuple[Shape, ...]
    results: tuple[Shape, ...]
    aliases: dict[int, int]

    def call(self, given: Arrays, made: Arrays) -> None:
        """Call the handler.

        Parameters
        ----------
        given : the operands; None for a token.
        made : arrays for the results, which are overwritten.

        Raises
        ------
        HandlerError
            That the handler returns.
        """
        inputs = [_laid_out(a, s) for a, s in zip(given, self.operands, strict=True)]
        outputs = [_room(a, s) for a, s in zip(made, self.results, strict=True)]
        for result, operand in self.aliases.items():
            found, room = inputs[operand], outputs[result]
            if found is not None and room is not None:
                np.copyto(room, found)
                inputs[operand] = room
        kept: list[Any] = []
        arrays = _arguments(inputs, self.operands, kept), _arguments(outputs, self.results, kept)
        instance = instance_of(self.instr)  # which the program keeps; who kept it here, for good
        states = States(instance.states)
        try:
            for stage in (
                ffi.ExecutionStage.PREPARE,
                ffi.ExecutionStage.INITIALIZE,
                ffi.ExecutionStage.EXECUTE,
            ):
                instance.run(stage, states, *arrays)
        finally:
            states.delete()
        for buffer, array in zip(made, outputs, strict=True):
            if buffer is not None and array is not None and array is not buffer:
                np.copyto(buffer, array)


def _order(shape: Shape) -> tuple[int, ...]:
    """The dimensions from the slowest to the fastest."""
    layout = shape.layout or row_major(shape.rank)
    return tuple(reversed(layout.minor_to_major))


def _fits(array: np.ndarray, shape: Shape) -> bool:
    """Whether an array lies in memory as a shape says."""
    transposed = array.transpose(_order(shape))
    return bool(transposed.flags.c_contiguous) and array.ctypes.data % ALIGNMENT == 0


def _empty(shape: Shape) -> np.ndarray:
    """An array that lies in memory as a shape says."""
    order, kind = _order(shape), shape.element_type.dtype
    memory = np.empty(shape.size * kind.itemsize + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    flat = memory[start : start + shape.size * kind.itemsize].view(kind)
    return flat.reshape([shape.dims[d] for d in order]).transpose(np.argsort(order))


def _room(array: np.ndarray | None, shape: Shape) -> np.ndarray | None:
    """Memory for a result: an array's own, if it lies as the handler wants it."""
    return array if array is None or _fits(array, shape) else _empty(shape)


def _laid_out(array: np.ndarray | None, shape: Shape) -> np.ndarray | None:
    """An operand as the handler wants it."""
    if array is None or _fits(array, shape):
        return array
    made = _empty(shape)
    np.copyto(made, array)
    return made


def _arguments(arrays: Arrays, shapes: Sequence[Shape], kept: list[Any]) -> ffi.Arguments:
    """Arrays as structs; a token is an array without memory."""
    buffers: list[ffi.ArrayArgument] = []
    for array, shape in zip(arrays, shapes, strict=True):
        dims = (ctypes.c_int64 * max(shape.rank, 1))(*shape.dims)
        buffer = ffi.ArrayArgument(struct_size=ctypes.sizeof(ffi.ArrayArgument), rank=shape.rank)
        buffer.dtype, buffer.dims = ffi.DATA_TYPES[shape.element_type], ctypes.addressof(dims)
        buffer.data = 0 if array is None else array.ctypes.data
        kept.append(dims)
        buffers.append(buffer)
    types = (ctypes.c_int * max(len(buffers), 1))(*[ffi.BUFFER] * len(buffers))
    values = (ctypes.c_size_t * max(len(buffers), 1))(*map(ctypes.addressof, buffers))
    kept += [buffers, types, values]
    made = ffi.Arguments(struct_size=ctypes.sizeof(ffi.Arguments), size=len(buffers))
    made.types, made.values = ctypes.addressof(types), ctypes.addressof(values)
    return made


def site_of(instr: Instruction) -> Site:
    """The site of a custom call."""
    attrs = CustomCall.of(instr)
    wanted = attrs.operand_layout_constraints or tuple(o.shape for o in instr.operands)
    leaves = list(instr.shape.leaves())
    numbers = {path: k for k, (path, _) in enumerate(leaves)}
    aliases = {numbers[a.output_index]: a.operand for a in attrs.output_to_operand_aliasing}
    return Site(instr, tuple(wanted), tuple(shape for _, shape in leaves), aliases)


# ---------------------------------------------------------------------------- interpreter


def call(_frame: Frame, instr: Instruction, *operands: Value) -> Value:
    """Call the handler with the operands' arrays."""
    site = site_of(instr)
    given = [None if x is None else np.asarray(x) for x in operands]
    made = [np.empty(s.dims, s.element_type.dtype) if s.is_array else None for s in site.results]
    site.call(given, made)
    return tuple(made) if instr.shape.is_tuple else made[0]


# -------------------------------------------------------------------------------------- C

_SITES: list[Site] = []


def call_foreign(number: int, *addresses: int) -> int:
    """Call the handler of a site with the arrays at addresses."""
    try:
        site, pointers = _SITES[number], iter(addresses)
        given = [array_at(next(pointers), s) if s.is_array else None for s in site.operands]
        made = [array_at(next(pointers), s) if s.is_array else None for s in site.results]
        site.call(given, made)
    except BaseException as error:
        return fail(error)
    return 0


def write(body: Body, instr: Instruction, outputs: Sequence[Name]) -> None:
    """Call the handler from C, with the addresses of all arrays; tokens have none."""
    _SITES.append(site_of(instr))
    write_call(body, instr, outputs, call_foreign, len(_SITES) - 1)


# ------------------------------------------------------------------------------- programs


def prepare_calls(instructions: Iterable[Instruction]) -> list[HandlerInstance]:
    """Let the engines know the foreign functions that a program calls.

    Custom calls that PyHLO knows itself are left to it.

    Returns
    -------
    Instances, which the program must keep.

    Raises
    ------
    HandlerError
        As a handler's stage `instantiate` returns, or if a handler can't be called.
    """
    calls = [
        instr
        for instr in foreign_calls(instructions)
        if function_of(CustomCall.of(instr).custom_call_target) in (None, call)
    ]
    for target in {CustomCall.of(instr).custom_call_target for instr in calls}:
        if target not in CUSTOM_CALLS:
            custom_call(target)(call)
            kernel(target)(write)
    return [instance_of(instr) for instr in calls]
