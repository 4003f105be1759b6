"""Functions of Python that emitted C calls with a number and the addresses of arrays."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.callees import FUNCTIONS
from codegen.expressions import Literal
from codegen.statements import Try
from emit_c.code.constants import CConstants
from emit_c.code.foreign import PROVIDED
from emit_c.executable.runtime import usual_floats

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codegen.elements.body import Body
    from codegen.expressions import Name
    from hlo.instruction import Instruction
    from hlo.types.shape import Shape

_kept: dict[str, Any] = {}  # by its name, the function that C calls


def array_at(address: int | None, shape: Shape) -> np.ndarray:
    """An array that looks at memory of C."""
    dtype = shape.element_type.dtype
    memory: Any = (ctypes.c_uint8 * (shape.size * dtype.itemsize)).from_address(address or 0)
    return np.frombuffer(memory, np.uint8).view(dtype).reshape(shape.dims)


def write_call(
    body: Body,
    instr: Instruction,
    outputs: Sequence[Name],
    function: Callable[..., int],
    number: int,
) -> None:
    """Write the call of a function of Python, with the addresses of all arrays; tokens have none.

    Parameters
    ----------
    function : called with the number and the addresses; it returns 0, or the status of `fail`.
    """
    arrays = [*(body.pointer(o) for o in instr.operands if o.shape.is_array), *outputs]
    kinds = ", ".join(["u64", *["const void *"] * len(arrays)])
    constants = body.writer.constants
    assert isinstance(constants, CConstants)
    name = _provided(function, len(arrays))
    called = FUNCTIONS[constants.foreign.function(name, f"s32 {{}}({kinds})")]
    body.writer.fails = True
    body.add(Try(called, (Literal(number), *arrays)))


def _provided(function: Callable[..., int], count: int) -> str:
    """The name under which C calls a function with so many arrays."""
    name = f"{function.__name__}_with_{count}"
    if name not in _kept:
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, *[ctypes.c_void_p] * count)
        _kept[name] = kind(usual_floats()(function))
        PROVIDED[name] = ctypes.cast(_kept[name], ctypes.c_void_p).value or 0
    return name
